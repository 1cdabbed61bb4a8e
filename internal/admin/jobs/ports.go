package jobs

import (
	"context"
	"errors"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
)

// ErrQueueBusy means that another job moves messages of the queue.
var ErrQueueBusy = errors.New("another job moves messages of the queue")

// JobJournal keeps plans of moves, jobs, and what became of their messages; never a body or a header. Every method that writes
// returns after the change is on disk, and is safe for concurrent use. Errors are plain: whoever calls puts them in words.
type JobJournal interface {
	movePlanJournal
	jobJournal
	jobItemJournal
}

type movePlanJournal interface {
	// SaveMovePlan keeps a plan.
	SaveMovePlan(ctx context.Context, p move.Plan) error
	// MovePlan returns a plan, the job that carried it out or "", and whether there is such a plan.
	MovePlan(ctx context.Context, id string) (p move.Plan, job string, ok bool, err error)
	// PurgeMoves deletes plans and jobs too old to be asked for.
	PurgeMoves(ctx context.Context, now time.Time) error
}

type jobJournal interface {
	// BeginJob claims the plan and the queue for the job and keeps the job, all or nothing. If the plan was claimed before, it returns
	// the ID of the job that has it; else j.ID. It fails with ErrQueueBusy when another job that has not ended has the queue, and
	// with ErrTokenUsed when this person started another plan with the token.
	BeginJob(ctx context.Context, j Job, token string) (string, error)
	// SaveJob keeps how far a job came, and its end when it has ended, with what became of messages since.
	SaveJob(ctx context.Context, j Job, items []JobItem) error
	// SaveAftermath keeps a job that has ended with what became of its messages, by their numbers; both or neither.
	SaveAftermath(ctx context.Context, j Job, became map[int64]string) error
	// Job returns a job with its plan, and whether there is one.
	Job(ctx context.Context, id string) (Job, bool, error)
	// JobAlone returns a job with the ID of its plan alone, and whether there is one.
	JobAlone(ctx context.Context, id string) (Job, bool, error)
	// JobSummary returns a job as it stands in a list, and whether there is one.
	JobSummary(ctx context.Context, id string) (JobSummary, bool, error)
	// Jobs returns summaries, newest first.
	Jobs(ctx context.Context, limit int) ([]JobSummary, error)
	// JobByToken returns the plan that this person started with the token, or "".
	JobByToken(ctx context.Context, by, token string) (plan string, err error)
	// HolderOf returns the job that has not ended and moves messages of a queue, or "".
	HolderOf(ctx context.Context, broker string, queue dedup.QueueRef) (string, error)
	// UnfinishedJobs returns the jobs that have not ended, oldest first; Unjudged those that ended after a time and have no aftermath.
	UnfinishedJobs(ctx context.Context) ([]string, error)
	UnjudgedJobs(ctx context.Context, after time.Time) ([]string, error)
}

type jobItemJournal interface {
	// JobItemsThat returns like JobItems, and only those of which one thing became.
	JobItemsThat(ctx context.Context, job, became string, after int64, limit int) ([]JobItem, error)
	// JobItems returns what became of messages of a job with numbers above after, in order.
	JobItems(ctx context.Context, job string, after int64, limit int) ([]JobItem, error)
	// TimesRequeued returns how often jobs have requeued messages with these ids, at most MaxScan of them; an id of none is absent.
	TimesRequeued(ctx context.Context, ids []string) (map[string]int, error)
	// ItemsOf returns what jobs did to messages with an id, newest first.
	ItemsOf(ctx context.Context, id string, limit int) ([]JobItem, error)
}

// A letterClearer clears markers before their messages are sent, as an operation of its own, which can be undone.
type letterClearer interface {
	// WhyNot says why markers of a store cannot be changed; "" when they can.
	WhyNot(store string) string
	// ClearFor clears the markers with these keys and returns the operation and what became of each.
	ClearFor(ctx context.Context, who admin.Caller, req admin.ClearForRequest) (operation string, outcomes map[string]dedup.Outcome, err error)
}

// jobRuns tells of the jobs of a journal who looks at queues.
type jobRuns struct{ jobJournal }

// HasJob reports whether a run is one of the jobs.
func (r jobRuns) HasJob(ctx context.Context, id string) (bool, error) {
	_, known, err := r.JobSummary(ctx, id)
	return known, err
}
