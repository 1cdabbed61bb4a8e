package server

import (
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// alertFrame adds what fires to the frame of a page. In the banner alerts take the place of verdicts: they were true for long enough to
// be told. Where none of the severe ones waits for somebody, the banner stays what it was without alerts.
func (s *Server) alertFrame(f *templates.Frame, snap *dedup.Snapshot, now time.Time) {
	if s.alerts.View == nil {
		return
	}
	view := s.alerts.View.View()
	if view.Firing > 0 {
		f.Firing = templates.Number(float64(view.Firing))
	}
	text, tier, href := alertBanner(view, f.Base, now)
	if text == "" {
		return
	}
	parts := []string{text}
	if why := late(snap, now); why != "" {
		parts = append(parts, "no reading since "+moment(snap.At, now).Text)
	} else {
		parts = append(parts, lostText(snap, now)...)
	}
	f.Banner, f.BannerTier, f.BannerHref = strings.Join(parts, "; "), tier.String(), href
}

// alertBanner says how many alerts of severe and emergency nobody attends to, and since when the oldest fires. Those that recover are
// counted apart: they are over if they stay so. It is empty where none fires, and where rules were not judged for so long that nothing
// can be told.
func alertBanner(view *alerts.View, base string, now time.Time) (text string, tier dedup.Tier, href string) {
	if lateView(view, now) != "" {
		return "", dedup.TierUnknown, ""
	}
	counts, recovering, oldest := unattended(view)
	emergency, severe := counts[dedup.Emergency], counts[dedup.Severe]
	if emergency+severe == 0 {
		return "", dedup.TierUnknown, ""
	}
	q := alertsQuery{states: []string{stateFiring}, page: 1}
	switch {
	case emergency > 0 && severe > 0:
		text = counted(emergency, "alert") + " in emergency, " + templates.Number(float64(severe)) + " severe"
		q.tiers = []dedup.Tier{dedup.Emergency, dedup.Severe}
	case emergency > 0:
		text = counted(emergency, "alert") + " in emergency"
		q.tiers = []dedup.Tier{dedup.Emergency}
	default:
		text = counted(severe, "alert") + " severe"
		q.tiers = []dedup.Tier{dedup.Severe}
	}
	tier = dedup.Severe
	if emergency > 0 {
		tier = dedup.Emergency
	}
	href = q.address(base)
	if recovering > 0 {
		text += ", " + templates.Number(float64(recovering)) + " more recovering"
	}
	if emergency+severe == 1 && recovering == 0 {
		text += ": " + within(titleOf(oldest)) + ", " + within(subjectOf(oldest.Key))
		href = alertAddress(base, oldest.Key)
	}
	if since := oldest.State.FiredAt; !since.IsZero() && now.After(since) {
		text += ", " + plural(int64(emergency+severe+recovering), "for ", "the oldest for ") + templates.Span(now.Sub(since))
		if emergency+severe == 1 && recovering == 0 && oldest.State.Changed() {
			text += ", " + tierFor(oldest, now)
		}
	}
	return text, tier, href
}

// unattended counts what fires at severe and emergency and nobody attends to, apart from what recovers, and finds the oldest of it; nil
// where there is none.
func unattended(view *alerts.View) (counts map[dedup.Tier]int, recovering int, oldest *alerts.AlertView) {
	counts = firingByTier(view, func(a *alerts.AlertView) bool {
		if a.Attended() || a.State.Tier < dedup.Severe {
			return false
		}
		if a.State.Phase == alerts.PhaseRecovering {
			recovering++
			return false
		}
		if oldest == nil || a.State.FiredAt.Before(oldest.State.FiredAt) {
			oldest = a
		}
		return true
	})
	return counts, recovering, oldest
}

// alertLine says what fires or is pending of a pipeline, for its page.
func (s *Server) alertLine(name string, now time.Time) templates.AlertLine {
	if s.alerts.View == nil {
		return templates.AlertLine{}
	}
	view := s.alerts.View.View()
	var worst *alerts.AlertView
	firing, pending := 0, 0
	for _, a := range view.Alerts {
		switch {
		case pipelineOfAlert(a) != name || name == "":
		case fires(a):
			if firing++; worst == nil || worseOf(a, worst) {
				worst = a
			}
		case a.Pending() >= dedup.Warning:
			pending++
		}
	}
	if firing+pending == 0 {
		return templates.AlertLine{}
	}
	l := templates.AlertLine{Tier: dedup.TierUnknown.String(), Href: s.cfg.base() + "/alerts?pipeline=" + url.QueryEscape(name), Link: "Its alerts"}
	var parts []string
	if firing > 0 {
		var row templates.AlertRow
		alertState(&row, worst, lateView(view, now) != "", now)
		l.Tier = row.Tier
		parts = append(parts, counted(firing, "alert")+" "+plural(int64(firing), "fires", "fire")+": "+firingText(worst, row, now))
	}
	if pending > 0 {
		parts = append(parts, counted(pending, "alert")+" pending")
	}
	l.Text = statement(strings.Join(parts, "; "))
	return l
}

// firingText says what fires at which tier, and since when both.
func firingText(a *alerts.AlertView, row templates.AlertRow, now time.Time) string {
	text := within(titleOf(a)) + ", " + row.Word
	if a.State.Phase == alerts.PhaseRecovering {
		text += ", recovering,"
	}
	fired := a.State.FiredAt
	switch {
	case row.TierFor != "":
		text += " since " + moment(a.State.TierSince, now).Text + ", firing since " + moment(fired, now).Text
	case !fired.IsZero():
		text += " since " + moment(fired, now).Text
	}
	if a.Attended() {
		text += ", attended to"
	}
	return text
}

// worseOf reports whether an alert that fires comes before another: those that recover come last.
func worseOf(a, b *alerts.AlertView) bool {
	if over := a.State.Phase == alerts.PhaseRecovering; over != (b.State.Phase == alerts.PhaseRecovering) {
		return !over
	}
	return a.State.Tier > b.State.Tier
}
