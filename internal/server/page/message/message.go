// Package message serves the pages of one dead letter: what it holds, its edit, its download and exports, and what is told of a message elsewhere.
package message

import (
	"context"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// scans are looks into dead-letter queues that are kept. WhyNot says why nothing can be looked at or moved in a pipeline, "" when it can.
type scans interface {
	Queue(ctx context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error)
	Kept(ctx context.Context, who admin.Caller, scanID string) (deadletter.Scan, error)
	WhyNot(pipeline string) string
}

// letters gives single dead letters of a scan that is kept. Reveal and Export leave an entry in the audit.
type letters interface {
	Letter(ctx context.Context, who admin.Caller, scanID, ref string) (deadletter.Letter, error)
	Reveal(ctx context.Context, who admin.Caller, scanID, ref string) (deadletter.Letter, error)
	Export(ctx context.Context, who admin.Caller, scanID, filter string, send func([]deadletter.Letter) error) error
}

// planning plans the requeue of an edited message.
type planning interface {
	PlanMove(ctx context.Context, who admin.Caller, req move.Request) (move.Plan, error)
}

// tracer follows one message id: through the looks that are kept, and through jobs.
type tracer interface {
	Seen(ctx context.Context, who admin.Caller, id string) ([]deadletter.Scan, error)
	IDsOfKey(ctx context.Context, who admin.Caller, key string, most int) ([]string, error)
	ItemsOf(ctx context.Context, who admin.Caller, id string) ([]jobs.JobItem, error)
	JobSummary(ctx context.Context, who admin.Caller, id string) (jobs.JobSummary, error)
}

// A Service is everything behind the pages of single dead letters; *jobs.DeadLetters is one. Its errors are *dedup.Error.
type Service interface {
	scans
	letters
	planning
	tracer
}

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// Deps are what stands behind single dead letters.
type Deps struct {
	Snapshots snapshots
	// Letters is *jobs.DeadLetters; without it the pages say that there is no access to single messages.
	Letters Service
}

// Messages are what pages show of single messages. They are safe for concurrent use.
type Messages struct{ deps Deps }

// New returns what shows single messages.
func New(deps Deps) Messages { return Messages{deps} }

// pages answer with single dead letters.
type pages struct {
	letters   Service
	snapshots snapshots
	site      web.Site
}

// Pages returns the routes of single dead letters.
func (m Messages) Pages(site web.Site) []web.Route {
	s := pages{m.deps.Letters, m.deps.Snapshots, site}
	routes := []web.Route{
		web.Get("/pipelines/{name}/dead-letters.csv", auth.Operator, s.lettersCSV), web.Audited(web.Get("/pipelines/{name}/dead-letters.ndjson", auth.Operator, s.lettersNDJSON)),
		web.Get("/dead-letters/message", auth.Operator, s.letter), web.Post("/dead-letters/reveal", auth.Admin, s.reveal), web.Audited(web.Get("/dead-letters/download", auth.Admin, s.download)),
		web.Audited(web.Get("/dead-letters/edit", auth.Admin, s.editForm)), web.Post("/dead-letters/edit", auth.Admin, s.edit),
		web.APIGet("/dead-letters/message", auth.Operator, s.apiLetter), web.Audited(web.APIGet("/dead-letters/export", auth.Operator, s.lettersNDJSON)),
	}
	if s.letters == nil {
		return web.Refused(routes, web.Unavailable(letter.NoAccess))
	}
	return routes
}

// planner plans the requeue of an edited message.
func (s pages) planner() letter.Planner { return letter.Planner{Site: s.site, Moves: s.letters} }
