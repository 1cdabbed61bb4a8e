package server

import (
	"context"
	"net/url"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// deadLetterReader looks into dead-letter queues. Scan has side effects on the queue, which the page says before it; the others
// have none. WhyNot says why nothing can be looked at or moved in a pipeline, "" when it can.
type deadLetterReader interface {
	Queue(ctx context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error)
	ParkingQueue(ctx context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error)
	Scan(ctx context.Context, who admin.Caller, req deadletter.ScanRequest) (deadletter.Scan, error)
	Kept(ctx context.Context, who admin.Caller, scanID string) (deadletter.Scan, error)
	WhyNot(pipeline string) string
}

// letterReader gives single dead letters of a scan that is kept. Reveal and Export leave an entry in the audit.
type letterReader interface {
	Letter(ctx context.Context, who admin.Caller, scanID, ref string) (deadletter.Letter, error)
	Reveal(ctx context.Context, who admin.Caller, scanID, ref string) (deadletter.Letter, error)
	Export(ctx context.Context, who admin.Caller, scanID, filter string, send func([]deadletter.Letter) error) error
}

// mover plans moves of messages and begins them.
type mover interface {
	PlanMove(ctx context.Context, who admin.Caller, req move.Request) (move.Plan, error)
	PlannedMove(ctx context.Context, who admin.Caller, planID string) (plan move.Plan, job string, err error)
	StartJob(ctx context.Context, who admin.Caller, req jobs.StartRequest) (job string, err error)
}

// jobReader tells what became of moves.
type jobReader interface {
	Job(ctx context.Context, who admin.Caller, id string) (jobs.Job, error)
	Jobs(ctx context.Context, who admin.Caller, limit int) ([]jobs.JobSummary, error)
	JobItems(ctx context.Context, who admin.Caller, id string, after int64, limit int) ([]jobs.JobItem, error)
	JobItemsThat(ctx context.Context, who admin.Caller, id, became string, after int64, limit int) ([]jobs.JobItem, error)
	BackOf(ctx context.Context, who admin.Caller, id string) (scan string, refs []string, err error)
}

// tracer follows one message id: through the looks that are kept, and through jobs.
type tracer interface {
	Seen(ctx context.Context, who admin.Caller, id string) ([]deadletter.Scan, error)
	IDsOfKey(ctx context.Context, who admin.Caller, key string, most int) ([]string, error)
	ItemsOf(ctx context.Context, who admin.Caller, id string) ([]jobs.JobItem, error)
	JobSummary(ctx context.Context, who admin.Caller, id string) (jobs.JobSummary, error)
}

// jobSteerer holds jobs up, lets them go on and ends them.
type jobSteerer interface {
	PauseJob(ctx context.Context, who admin.Caller, id string) error
	ResumeJob(ctx context.Context, who admin.Caller, id string) error
	CancelJob(ctx context.Context, who admin.Caller, id string) error
}

// deadLetterService is everything behind the pages of dead letters; the services of jobs.DeadLetters together are one. Its errors are *dedup.Error.
type deadLetterService interface {
	deadLetterReader
	letterReader
	mover
	jobReader
	jobSteerer
	tracer
}

const noDeadLetters = "This dashboard was started without access to single messages"

// letters returns what is behind the pages of dead letters.
func (s *Server) letters() (deadLetterService, error) {
	if s.deadLetters == nil {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: noDeadLetters}
	}
	return s.deadLetters, nil
}

// whyNoMoves says why this reader cannot look at or move the messages of a pipeline, and "" if they can.
func (s *Server) whyNoMoves(r *web.Request, pipeline string) string {
	switch {
	case s.deadLetters == nil:
		return show.EndSentence(noDeadLetters)
	case s.cfg.ReadOnly:
		return "This dashboard is read-only: it looks at no message and moves none."
	}
	if why := s.deadLetters.WhyNot(pipeline); why != "" {
		return "Nothing can be looked at or moved here: " + show.EndSentence(why)
	}
	if !r.Who.Can(operator) {
		return "Looking at messages and moving them needs the role " + operator.String() + "; you are signed in as " + r.Who.Role.String() + "."
	}
	return ""
}

// deadAddress is the page of a dead-letter queue of a pipeline; without a queue, of its first one.
func deadAddress(base, pipeline, queue string) string {
	at := base + "/pipelines/" + url.PathEscape(pipeline) + "/dead-letters"
	if queue == "" {
		return at
	}
	return at + "?" + url.Values{"queue": {queue}}.Encode()
}

// parkingAddress is the page of the parking queue that belongs to a dead-letter queue.
func parkingAddress(base, pipeline, queue string) string {
	return base + "/pipelines/" + url.PathEscape(pipeline) + "/dead-letters?" + url.Values{"queue": {queue}, "parking": {"1"}}.Encode()
}

func moveAddress(base, id string) string { return base + "/moves/" + url.PathEscape(id) }

func jobAddress(base, id string) string { return base + "/jobs/" + url.PathEscape(id) }

// letterKey names a letter of a scan in an address and in the hidden fields of forms.
type letterKey struct {
	pipeline, queue, scan, ref string
}

func (k letterKey) values() url.Values {
	return url.Values{"pipeline": {k.pipeline}, "queue": {k.queue}, "scan": {k.scan}, "ref": {k.ref}}
}

func (k letterKey) address(base string) string {
	return base + "/dead-letters/message?" + k.values().Encode()
}

func (k letterKey) fields() []templates.Fact {
	return []templates.Fact{{Label: "pipeline", Value: k.pipeline}, {Label: "queue", Value: k.queue}, {Label: "scan", Value: k.scan}, {Label: "ref", Value: k.ref}}
}

func letterKeyOf(values url.Values) (letterKey, error) {
	k := letterKey{values.Get("pipeline"), values.Get("queue"), values.Get("scan"), values.Get("ref")}
	for _, part := range []struct{ name, value string }{{"pipeline", k.pipeline}, {"queue", k.queue}, {"scan", k.scan}, {"ref", k.ref}} {
		if part.value == "" || len(part.value) > web.MaxRef {
			return k, list.Bad(part.name, "must name one, with at most 255 bytes")
		}
	}
	if !web.IsPipeline(k.pipeline) {
		return k, web.NoPipeline(k.pipeline)
	}
	return k, nil
}

// deadCrumbs lead to a dead-letter queue of a pipeline.
func deadCrumbs(base, pipeline, queue string) []templates.Crumb {
	crumbs := []templates.Crumb{
		{Label: templates.Plain("Dead letters", show.NameLimit), Href: base + "/dead-letters"},
		{Label: templates.Plain(pipeline, show.NameLimit), Href: base + "/pipelines/" + url.PathEscape(pipeline)},
	}
	if queue != "" {
		crumbs = append(crumbs, templates.Crumb{Label: templates.Plain(queue, show.NameLimit), Href: deadAddress(base, pipeline, queue)})
	}
	return crumbs
}
