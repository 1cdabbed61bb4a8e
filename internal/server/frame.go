package server

import (
	"strings"
	"time"

	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/static"
	"dedup-dashboard/web/templates"
)

// frame returns what every page shares. Nobody gets no banner: the state of the pipelines is for viewers.
func (s *Server) frame(r *web.Request, title string) templates.Frame {
	f := s.bareFrame(r, title)
	if r.Who.Can(viewer) {
		now, snap := r.Now(), s.snapshots.Snapshot()
		verdicts := s.judging.at(snap, now)
		text, tier := banner(snap, verdicts, now)
		f.Banner, f.BannerTier, f.BannerHref = text, tier.String(), bannerAddress(snap, verdicts, f.Base)
		f.Dead = show.DeadCount(snap)
		s.alertFrame(&f, snap, now)
	}
	return f
}

// errorFrame is the frame of an error page. An error page must not fail where the page did: then its frame counts nothing.
func (s *Server) errorFrame(r *web.Request, heading string) (f templates.Frame) {
	defer func() {
		if recover() != nil {
			f = s.bareFrame(r, heading)
		}
	}()
	return s.frame(r, heading)
}

// bareFrame is the frame without the state of the pipelines: every page is in its navigation, but nothing is counted.
func (s *Server) bareFrame(r *web.Request, title string) templates.Frame {
	f := templates.Frame{
		Title: title, Path: strings.TrimPrefix(r.URL.Path, s.cfg.base()), Base: s.cfg.base(),
		ReadOnly: s.cfg.ReadOnly, Bundle: static.HasBundle(), Version: s.version,
		Now: time.Now().UTC().Format(time.RFC3339), Zone: web.Zone(r).String(), Theme: theme(r), Reload: web.ReloadAddress(r),
	}
	if r.Who.Can(viewer) {
		f.User, f.Role = r.Who.Name, r.Who.Role.String()
		f.Looks, f.Audit = s.serves("/lookup"), s.serves("/audit") && r.Who.Can(operator)
		f.Jobs, f.Alerts = s.serves("/jobs") && r.Who.Can(operator), s.alerts.View != nil
	}
	return f
}

func theme(r *web.Request) string {
	if c, err := r.Cookie(web.ThemeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}
