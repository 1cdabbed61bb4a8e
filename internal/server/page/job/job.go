// Package job serves the pages of jobs, which move dead letters, and what jobs did as events of their pipelines.
package job

import (
	"context"
	"log/slog"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// queues looks into dead-letter queues. WhyNot says why nothing can be looked at or moved in a pipeline, "" when it can.
type queues interface {
	Queue(ctx context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error)
	ParkingQueue(ctx context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error)
	Scan(ctx context.Context, who admin.Caller, req deadletter.ScanRequest) (deadletter.Scan, error)
	WhyNot(pipeline string) string
}

// reader tells what became of moves.
type reader interface {
	Job(ctx context.Context, who admin.Caller, id string) (jobs.Job, error)
	Jobs(ctx context.Context, who admin.Caller, limit int) ([]jobs.JobSummary, error)
	JobItems(ctx context.Context, who admin.Caller, id string, after int64, limit int) ([]jobs.JobItem, error)
	JobItemsThat(ctx context.Context, who admin.Caller, id, became string, after int64, limit int) ([]jobs.JobItem, error)
	BackOf(ctx context.Context, who admin.Caller, id string) (scan string, refs []string, err error)
}

// steerer holds jobs up, lets them go on and ends them.
type steerer interface {
	PauseJob(ctx context.Context, who admin.Caller, id string) error
	ResumeJob(ctx context.Context, who admin.Caller, id string) error
	CancelJob(ctx context.Context, who admin.Caller, id string) error
}

// planning plans messages of a job again.
type planning interface {
	PlanMove(ctx context.Context, who admin.Caller, req move.Request) (move.Plan, error)
}

// A Service is everything behind the pages of jobs; *jobs.DeadLetters is one. Its errors are *dedup.Error.
type Service interface {
	queues
	reader
	steerer
	planning
}

// Deps are what stands behind jobs.
type Deps struct {
	// Letters is *jobs.DeadLetters; without it the pages say that there is no access to single messages.
	Letters Service
	Log     *slog.Logger
}

// Jobs are what pages show of jobs. They are safe for concurrent use.
type Jobs struct{ deps Deps }

// New returns what shows jobs.
func New(deps Deps) Jobs { return Jobs{deps} }

// pages answer with jobs.
type pages struct {
	letters Service
	site    web.Site
}

// Pages returns the routes of jobs.
func (j Jobs) Pages(site web.Site) []web.Route {
	s := pages{j.deps.Letters, site}
	const one = "/jobs/{id}"
	routes := []web.Route{
		web.Get("/jobs", auth.Operator, s.jobs), web.Get(one, auth.Operator, s.job), web.Get(one+"/items", auth.Operator, s.jobItems), web.Get(one+"/items.csv", auth.Operator, s.jobItemsCSV),
		web.Post(one+"/pause", auth.Operator, s.steer(Service.PauseJob)), web.Post(one+"/resume", auth.Operator, s.steer(Service.ResumeJob)), web.Post(one+"/cancel", auth.Operator, s.steer(Service.CancelJob)),
		web.Post(one+"/retry", auth.Operator, s.retryJob), web.Post(one+"/again", auth.Operator, s.againJob),
		web.APIGet("/jobs", auth.Operator, s.apiJobs), web.APIGet(one, auth.Operator, s.apiJob), web.APIGet(one+"/items", auth.Operator, s.apiJobItems),
		web.APIPost(one+"/pause", auth.Operator, s.apiSteer(Service.PauseJob)), web.APIPost(one+"/resume", auth.Operator, s.apiSteer(Service.ResumeJob)), web.APIPost(one+"/cancel", auth.Operator, s.apiSteer(Service.CancelJob)),
	}
	if s.letters == nil {
		return web.Refused(routes, web.Unavailable(letter.NoAccess))
	}
	return routes
}

// planner plans messages of a job again.
func (s pages) planner() letter.Planner { return letter.Planner{Site: s.site, Moves: s.letters} }
