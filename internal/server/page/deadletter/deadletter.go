// Package deadletter serves the pages of dead-letter queues: all of them, one of them with what a look found, and what of them is acknowledged.
package deadletter

import (
	"context"
	"log/slog"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// queues looks into dead-letter queues. Scan has side effects on the queue, which the page says before it; the others have none. WhyNot
// says why nothing can be looked at or moved in a pipeline, "" when it can.
type queues interface {
	Queue(ctx context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error)
	ParkingQueue(ctx context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error)
	Scan(ctx context.Context, who admin.Caller, req deadletter.ScanRequest) (deadletter.Scan, error)
	WhyNot(pipeline string) string
}

// A Service is everything behind the pages of dead-letter queues; *jobs.DeadLetters is one. Its errors are *dedup.Error.
type Service interface {
	queues
	Jobs(ctx context.Context, who admin.Caller, limit int) ([]jobs.JobSummary, error)
}

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// Deps are what stands behind dead-letter queues.
type Deps struct {
	Snapshots snapshots
	// Letters is *jobs.DeadLetters; without it the pages say that there is no access to single messages.
	Letters Service
	Log     *slog.Logger
}

// pages answer with dead-letter queues. They are safe for concurrent use.
type pages struct {
	deps Deps
	site web.Site
}

// New returns the routes of dead-letter queues.
func New(deps Deps) web.Pages {
	return func(site web.Site) []web.Route {
		s := pages{deps, site}
		const one = "/pipelines/{name}/dead-letters"
		return []web.Route{
			web.Get("/dead-letters", auth.Viewer, s.deadOverview), web.Get(one, auth.Viewer, s.deadQueue), web.Post(one+"/scan", auth.Operator, s.scan),
			web.APIGet("/dead-letters", auth.Viewer, s.apiOverview), web.APIGet(one, auth.Viewer, s.apiDeadLetters), web.APIPost(one+"/scan", auth.Operator, s.apiScan),
		}
	}
}

// service returns what is behind the pages of dead-letter queues.
func (s pages) service() (Service, error) {
	if s.deps.Letters == nil {
		return nil, web.Unavailable(letter.NoAccess)
	}
	return s.deps.Letters, nil
}
