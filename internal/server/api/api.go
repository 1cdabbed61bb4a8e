// Package api is the JSON API: what programs read and do. Its routes register with the server.
package api

import (
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// jobs puts what jobs did into a snapshot as events of their pipelines, for those who may see jobs.
type jobs interface {
	WithEvents(r *web.Request, snap *dedup.Snapshot) *dedup.Snapshot
}

// Deps are what the API answers from.
type Deps struct {
	Snapshots snapshots
	// Marks keeps what people and deployments say happened, *mark.Marks; without it nobody can say it.
	Marks markService
	// Jobs is job.Jobs; without it no event is one of a job.
	Jobs jobs
}

// API answers programs. It is safe for concurrent use.
type API struct {
	deps Deps
	site web.Site
}

// New returns the routes of the API.
func New(deps Deps) web.Pages {
	return func(site web.Site) []web.Route {
		a := &API{deps, site}
		return []web.Route{
			web.APIGet("/overview", auth.Viewer, a.overview), web.APIGet("/pipelines", auth.Viewer, a.pipelines), web.APIGet("/pipelines/{name}", auth.Viewer, a.pipeline),
			web.APIGet("/marks", auth.Viewer, a.listMarks), web.APIPost("/marks", auth.Operator, a.addMark),
		}
	}
}

// snapshot is what is known now, with what jobs did.
func (a *API) snapshot(r *web.Request) *dedup.Snapshot {
	snap := a.deps.Snapshots.Snapshot()
	if a.deps.Jobs == nil {
		return snap
	}
	return a.deps.Jobs.WithEvents(r, snap)
}
