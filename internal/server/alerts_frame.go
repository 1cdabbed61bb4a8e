package server

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/web/templates"
)

// alertFrame adds what needs eyes to the frame of a page. In the banner alerts take the place of verdicts: they were true for long enough to
// be told. Where none of the severe ones waits for somebody, the banner stays what it was without alerts.
func (s *Server) alertFrame(f *templates.Frame, snap *dedup.Snapshot, now time.Time) {
	if s.alerts.View == nil {
		return
	}
	view := s.alerts.View.View()
	if n := alert.NeedEyes(view); n > 0 {
		f.NeedEyes = templates.Number(n)
	}
	text, tier, href := alert.Banner(view, f.Base, now)
	if text == "" {
		return
	}
	text = withBlind(text, blindText(snap, now), blindFirst(snap, now))
	f.Banner, f.BannerTier, f.BannerHref = text, tier.String(), href
}
