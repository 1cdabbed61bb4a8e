// Package overview serves the first page: every pipeline, the worst first, with the sources that their figures rest on.
package overview

import (
	"net/http"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// judge judges, *alerts.Engine: View is what it knows now, never nil.
type judge interface{ View() *alerts.View }

// measured tells which pipelines who asks can measure exactly.
type measured interface {
	Measurable(r *web.Request) func(pipeline string) bool
}

// Deps are what the overview is made from. Without Alerts none is acknowledged, and without Measured no pipeline can be measured.
type Deps struct {
	Snapshots snapshots
	Alerts    judge
	Measured  measured
}

// pages answer with the overview. They are safe for concurrent use.
type pages struct {
	deps Deps
	site web.Site
}

// New returns the route of the overview.
func New(deps Deps) web.Pages {
	return func(site web.Site) []web.Route {
		s := pages{deps, site}
		return []web.Route{web.Get("/", auth.Viewer, s.overview)}
	}
}

// overview answers the first page.
func (s pages) overview(r *web.Request) (web.Response, error) {
	q, wrong := ParseQuery(r.URL.Query())
	frame := s.site.Frame(r, "Overview")
	if wrong == nil {
		frame.Live = web.Live("overview")
	}
	now := r.Now()
	snap, measurable := s.deps.Snapshots.Snapshot(), func(string) bool { return false }
	if s.deps.Measured != nil {
		measurable = s.deps.Measured.Measurable(r)
	}
	view := View(snap, s.site.Judge(now), q, now, frame, measurable)
	if s.deps.Alerts != nil && snap != nil {
		noteAttended(view.Tiers, snap, s.site.Verdicts(snap, now), s.deps.Alerts.View())
	}
	if wrong != nil {
		view.Rows, view.Matching, view.Empty = nil, 0, web.BadFilter(wrong, view.Filter.Clear)
		return web.Page{Status: http.StatusBadRequest, Component: templates.Overview(view)}, nil
	}
	return web.Page{Component: templates.Overview(view)}, nil
}
