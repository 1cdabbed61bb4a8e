// Package marker serves the pages of markers: lists, one marker, look-ups, plans to change them, and what became of those.
package marker

import (
	"context"
	"log/slog"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// markerReader reads single markers live. WhyNot says why markers of a store cannot be changed, "" when they can.
type markerReader interface {
	Browse(ctx context.Context, who admin.Caller, store string, q dedup.MarkerQuery) (marker.BrowsePage, error)
	Look(ctx context.Context, who admin.Caller, store, key string) (marker.Judged, error)
	Lookup(ctx context.Context, who admin.Caller, term string) (marker.LookupResult, error)
	Changed(ctx context.Context, who admin.Caller, store string, since time.Time) (map[string]marker.Change, error)
	WhyNot(store string) string
	Now(ctx context.Context, who admin.Caller, store string, keys []string) ([]*dedup.Sighting, error)
}

// planner plans and carries out.
type planner interface {
	Plan(ctx context.Context, who admin.Caller, req marker.PlanRequest) (marker.Plan, error)
	Planned(ctx context.Context, who admin.Caller, planID string) (plan marker.Plan, operation string, err error)
	Execute(ctx context.Context, who admin.Caller, req marker.ExecuteRequest) (operation string, err error)
}

// operations tells what became of plans.
type operations interface {
	Operation(ctx context.Context, who admin.Caller, id string) (marker.Operation, error)
	Operations(ctx context.Context, who admin.Caller, limit int) ([]marker.OperationSummary, error)
}

// A Service is everything behind the pages of markers; *marker.Markers of admin/marker is one. Its errors are *dedup.Error.
type Service interface {
	markerReader
	planner
	operations
}

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// storyteller tells what dead letters and jobs know of an id or a business key, of which these markers were found, to those who may see
// them; missing is what cannot be asked.
type storyteller interface {
	Stories(r *web.Request, base, term string, found marker.LookupResult, now time.Time) (all []web.Dated, missing string)
}

// Deps are what the pages of markers are made from.
type Deps struct {
	Snapshots snapshots
	// Markers is *marker.Markers of admin/marker; without it the pages say that there is no access to single markers.
	Markers Service
	// Judge gives the verdict on a processing marker, dedup.Judge; without it every verdict is "cannot tell".
	Judge func(dedup.Marker, dedup.Evidence, dedup.Scheme) (dedup.Verdict, []string)
	// Stories tells what dead letters and jobs know of an id, message.Messages; without it nothing.
	Stories storyteller
	Log     *slog.Logger
}

// pages answer with markers. They are safe for concurrent use.
type pages struct {
	deps Deps
	site web.Site
	// exports admits one long table at a time: each walks over a store.
	exports chan struct{}
}

// New returns the routes of markers.
func New(deps Deps) web.Pages {
	return func(site web.Site) []web.Route {
		s := &pages{deps, site, make(chan struct{}, 1)}
		const of = "/pipelines/{name}/markers"
		shown := []web.Route{
			web.Get(of, auth.Viewer, s.markersOf), web.Get(of+".csv", auth.Viewer, s.markersCSV), web.Get("/markers/one", auth.Viewer, s.oneMarker),
			web.Get("/lookup", auth.Viewer, s.lookup), web.APIGet(of, auth.Viewer, s.apiMarkers), web.APIGet("/lookup", auth.Viewer, s.apiLookup),
		}
		changed := []web.Route{
			web.Post("/markers/plan", auth.Admin, s.makePlan), web.Get("/plans/{id}", auth.Admin, s.plan), web.Post("/plans/{id}/execute", auth.Admin, s.execute),
			web.Get("/operations", auth.Operator, s.operations), web.Get("/operations/{id}", auth.Operator, s.operation),
			web.APIPost("/markers/plan", auth.Admin, s.apiPlan), web.APIPost("/plans/{id}/execute", auth.Admin, s.apiExecute),
			web.APIGet("/operations", auth.Operator, s.apiOperations), web.APIGet("/operations/{id}", auth.Operator, s.apiOperation),
		}
		if deps.Markers == nil {
			changed = web.Refused(changed, web.NoMarkers())
		}
		return append(shown, changed...)
	}
}

// service returns what is behind the pages of markers.
func (s *pages) service() (Service, error) {
	if s.deps.Markers == nil {
		return nil, web.NoMarkers()
	}
	return s.deps.Markers, nil
}

// whyNoControls says why this reader cannot change markers of a store, and "" if they can.
func (s *pages) whyNoControls(r *web.Request, store string) string {
	switch {
	case s.deps.Markers == nil:
		return "This dashboard was started without access to single markers."
	case s.site.ReadOnly:
		return "This dashboard is read-only: markers are shown and never changed."
	}
	if why := s.deps.Markers.WhyNot(store); why != "" {
		return "Nothing can be changed here: " + show.EndSentence(why)
	}
	if !r.Who.Can(auth.Admin) {
		return r.NeedsRole("Changing markers", auth.Admin)
	}
	return ""
}

// pipelineCrumbs leads to a pipeline and its markers; without a pipeline only to the overview.
func pipelineCrumbs(base string, snap *dedup.Snapshot, store string) []templates.Crumb {
	if names := snap.PipelinesOf(store); len(names) > 0 {
		return append(show.PipelineCrumbs(base, names[0]), show.Crumb("Markers", web.MarkersAddress(base, names[0])))
	}
	return []templates.Crumb{show.Crumb("Overview", base+"/")}
}
