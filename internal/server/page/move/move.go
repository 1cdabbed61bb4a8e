// Package move serves the pages of plans that move dead letters: how they are made, reviewed, changed and started.
package move

import (
	"context"

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
		const one = "/moves/{id}"
		routes := []web.Route{
			web.Post("/dead-letters/plan", auth.Operator, s.planMove), web.Get(one, auth.Operator, s.move), web.Get(one+"/keys.csv", auth.Operator, s.moveKeysCSV),
			web.Post(one+"/change", auth.Operator, s.changeMove), web.Post(one+"/start", auth.Operator, s.startMove), web.Get(one+"/start", auth.Operator, s.unstarted),
			web.APIPost("/moves/plan", auth.Operator, s.apiPlanMove), web.APIPost(one+"/start", auth.Operator, s.apiStartMove),
		}
		if letters == nil {
			return web.Refused(routes, web.Unavailable(letter.NoAccess))
		}
		return routes
	}
}

// planner makes plans.
func (s pages) planner() letter.Planner { return letter.Planner{Site: s.site, Moves: s.letters} }
