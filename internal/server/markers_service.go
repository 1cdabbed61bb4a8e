package server

import (
	"context"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// markerReader reads single markers live. WhyNot says why markers of a store cannot be changed, "" when they can.
type markerReader interface {
	Browse(ctx context.Context, who admin.Caller, store string, q dedup.MarkerQuery) (admin.BrowsePage, error)
	Look(ctx context.Context, who admin.Caller, store, key string) (admin.Judged, error)
	Lookup(ctx context.Context, who admin.Caller, term string) (admin.LookupResult, error)
	Changed(ctx context.Context, who admin.Caller, store string, since time.Time) (map[string]admin.Change, error)
	WhyNot(store string) string
	Now(ctx context.Context, who admin.Caller, store string, keys []string) ([]*dedup.Sighting, error)
}

// planner plans and carries out.
type planner interface {
	Plan(ctx context.Context, who admin.Caller, req admin.PlanRequest) (admin.Plan, error)
	Planned(ctx context.Context, who admin.Caller, planID string) (plan admin.Plan, operation string, err error)
	Execute(ctx context.Context, who admin.Caller, req admin.ExecuteRequest) (operation string, err error)
}

// operations tells what became of plans.
type operations interface {
	Operation(ctx context.Context, who admin.Caller, id string) (admin.Operation, error)
	Operations(ctx context.Context, who admin.Caller, limit int) ([]admin.OperationSummary, error)
}

// markerService is everything behind the pages of markers; *admin.Markers is one. Its errors are *dedup.Error.
type markerService interface {
	markerReader
	planner
	operations
}

// service returns what is behind the pages of markers.
func (s *Server) service() (markerService, error) {
	if s.markers == nil {
		return nil, web.NoMarkers()
	}
	return s.markers, nil
}

// whyNoControls says why this reader cannot change markers of a store, and "" if they can.
func (s *Server) whyNoControls(r *web.Request, store string) string {
	switch {
	case s.markers == nil:
		return "This dashboard was started without access to single markers."
	case s.cfg.ReadOnly:
		return "This dashboard is read-only: markers are shown and never changed."
	}
	if why := s.markers.WhyNot(store); why != "" {
		return "Nothing can be changed here: " + show.EndSentence(why)
	}
	if !r.Who.Can(adminRole) {
		return "Changing markers needs the role " + adminRole.String() + "; you are signed in as " + r.Who.Role.String() + "."
	}
	return ""
}

// pipelineCrumbs leads to a pipeline and its markers; without a pipeline only to the overview.
func pipelineCrumbs(base string, snap *dedup.Snapshot, store string) []templates.Crumb {
	crumbs := []templates.Crumb{{Label: templates.Plain("Overview", show.NameLimit), Href: base + "/"}}
	if names := snap.PipelinesOf(store); len(names) > 0 {
		crumbs = append(crumbs,
			templates.Crumb{Label: templates.Plain(names[0], show.NameLimit), Href: base + "/pipelines/" + names[0]},
			templates.Crumb{Label: templates.Plain("Markers", show.NameLimit), Href: web.MarkersAddress(base, names[0])})
	}
	return crumbs
}
