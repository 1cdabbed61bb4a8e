// Package move is the pages of plans that move dead letters: how they are made, reviewed, changed and started.
package move

import (
	"context"
	"net/http"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// scans are looks into dead-letter queues that are kept. WhyNot says why nothing can be looked at or moved in a pipeline, "" when it can.
type scans interface {
	Queue(ctx context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error)
	Kept(ctx context.Context, who admin.Caller, scanID string) (deadletter.Scan, error)
	WhyNot(pipeline string) string
}

// mover plans moves of messages and begins them.
type mover interface {
	PlanMove(ctx context.Context, who admin.Caller, req move.Request) (move.Plan, error)
	PlannedMove(ctx context.Context, who admin.Caller, planID string) (plan move.Plan, job string, err error)
	StartJob(ctx context.Context, who admin.Caller, req jobs.StartRequest) (job string, err error)
}

// A Service is everything behind the pages of moves; *jobs.DeadLetters is one. Its errors are *dedup.Error.
type Service interface {
	scans
	mover
}

// pages answer with plans of moves.
type pages struct {
	letters Service
	site    web.Site
}

// New returns the routes of moves; without a service they say that there is no access to single messages.
func New(letters Service) web.Pages {
	return func(site web.Site) []web.Route {
		s := pages{letters, site}
		get := func(path string, h web.Handler) web.Route {
			return web.Route{Method: http.MethodGet, Path: path, Needs: auth.Operator, Kind: web.PageKind, Handler: h}
		}
		act := func(path string, h web.Handler) web.Route {
			return web.Route{Method: http.MethodPost, Path: path, Needs: auth.Operator, Kind: web.PageKind, Acts: true, Handler: h}
		}
		api := func(path string, h web.Handler) web.Route {
			return web.Route{Method: http.MethodPost, Path: "/api/v1" + path, Needs: auth.Operator, Kind: web.APIKind, Acts: true, Handler: h}
		}
		const one = "/moves/{id}"
		return []web.Route{
			act("/dead-letters/plan", s.planMove), get(one, s.move), get(one+"/keys.csv", s.moveKeysCSV), act(one+"/change", s.changeMove),
			act(one+"/start", s.startMove), get(one+"/start", s.unstarted), api("/moves/plan", s.apiPlanMove), api(one+"/start", s.apiStartMove),
		}
	}
}

// service returns what is behind the pages of moves.
func (s pages) service() (Service, error) {
	if s.letters == nil {
		return nil, web.Unavailable(letter.NoAccess)
	}
	return s.letters, nil
}

// planner makes plans.
func (s pages) planner() letter.Planner { return letter.Planner{Site: s.site, Moves: s.letters} }
