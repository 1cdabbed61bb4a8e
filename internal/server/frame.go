package server

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/static"
	"dedup-dashboard/web/templates"
)

// frame returns what every page shares. Nobody gets no banner: the state of the pipelines is for viewers.
func (s *Server) frame(r *request, title string) templates.Frame {
	f := s.bareFrame(r, title)
	if r.Who.Can(viewer) {
		f.Banner, f.BannerTier = s.banner()
	}
	return f
}

// bareFrame is the frame without the state of the pipelines: for error pages, which must not fail where the page did.
func (s *Server) bareFrame(r *request, title string) templates.Frame {
	f := templates.Frame{
		Title: title, Path: strings.TrimPrefix(r.URL.Path, s.cfg.base()), Base: s.cfg.base(),
		ReadOnly: s.cfg.ReadOnly, Bundle: static.HasBundle(), Version: s.version,
		Now: time.Now().UTC().Format(time.RFC3339), Zone: zone(r).String(), Theme: theme(r),
	}
	if r.Who.Can(viewer) {
		f.User, f.Role = r.Who.Name, r.Who.Role.String()
	}
	return f
}

// banner counts the pipelines that are severe or worse in one sentence; both are empty when there are none.
func (s *Server) banner() (text, tier string) {
	var severe, emergency int
	for _, v := range s.verdicts(s.snapshots.Snapshot()) {
		switch v.Tier {
		case dedup.Emergency:
			emergency++
		case dedup.Severe:
			severe++
		}
	}
	switch {
	case emergency > 0 && severe > 0:
		return fmt.Sprintf("%s in emergency, %d severe", pipelines(emergency), severe), dedup.Emergency.String()
	case emergency > 0:
		return pipelines(emergency) + " in emergency", dedup.Emergency.String()
	case severe > 0:
		return pipelines(severe) + " severe", dedup.Severe.String()
	default:
		return "", ""
	}
}

func pipelines(n int) string {
	if n == 1 {
		return "1 pipeline"
	}
	return fmt.Sprintf("%d pipelines", n)
}

// live returns the path of the event stream for these topics below the base path, for Frame.Live.
func live(topics ...string) string {
	return "/events?topics=" + url.QueryEscape(strings.Join(topics, ","))
}
