package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/auth"
)

const (
	maxJobs     = 200
	maxItemPage = 1000
	// maxItemsOf is how many entries the page of one message id shows.
	maxItemsOf = 200
)

// Job returns a job as it stands. Operators may.
func (m *Moves) Job(ctx context.Context, who admin.Caller, id string) (Job, error) {
	if err := m.allow(ctx, who, auth.Operator, "read_job", id); err != nil {
		return Job{}, err
	}
	return m.read(ctx, id)
}

// read returns a job: of one that this process carries out as it stands, else as the journal has it.
func (m *Moves) read(ctx context.Context, id string) (Job, error) {
	if known := m.jobs.Known(id); known != nil {
		if job := known.snapshot(); !job.State.Final() || m.jobs.Owed(id) != nil {
			return job, nil
		} // it has ended for others once that is written: until then its queue is not free
	}
	job, ok, err := m.deps.Journal.JobAlone(ctx, id)
	if err == nil && ok {
		job.Plan, err = m.plans.of(ctx, m.deps.Journal, job.Plan.ID)
	}
	switch {
	case err != nil:
		return Job{}, admin.JournalError("The job cannot be read", err)
	case !ok:
		return Job{}, admin.NotFound("There is no such job")
	case !job.State.Final() && job.State != JobPaused && m.jobs.Known(id) == nil:
		job.Why = "the program was started again; the job goes on as soon as its queue has been seen"
	}
	return job, nil
}

// Jobs lists jobs, newest first. Operators may.
func (m *Moves) Jobs(ctx context.Context, who admin.Caller, limit int) ([]JobSummary, error) {
	if err := m.allow(ctx, who, auth.Operator, "read_jobs", ""); err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxJobs {
		return nil, admin.Invalid(fmt.Sprintf("A list has 1 to %d jobs", maxJobs))
	}
	list, err := m.deps.Journal.Jobs(ctx, limit)
	if err != nil {
		return nil, admin.JournalError("The jobs cannot be read", err)
	}
	for i := range list {
		m.asItStands(&list[i])
	}
	return list, nil
}

// JobSummary returns a job as it stands in a list. It reads no plan, so that many may be asked for at once. Operators may.
func (m *Moves) JobSummary(ctx context.Context, who admin.Caller, id string) (JobSummary, error) {
	if err := m.allow(ctx, who, auth.Operator, "read_job", id); err != nil {
		return JobSummary{}, err
	}
	s, ok, err := m.deps.Journal.JobSummary(ctx, id)
	switch {
	case err != nil:
		return JobSummary{}, admin.JournalError("The job cannot be read", err)
	case !ok:
		return JobSummary{}, admin.NotFound("There is no such job")
	}
	m.asItStands(&s)
	return s, nil
}

// asItStands puts what this process knows of a job that it carries out into its summary.
func (m *Moves) asItStands(s *JobSummary) {
	if j := m.jobs.Known(s.ID); j != nil {
		job := j.snapshot()
		s.State, s.Counts, s.Ended = job.State, job.Counts, job.Ended
	}
}

// JobItems returns what became of messages of a job with numbers above after, in order. Operators may.
func (m *Moves) JobItems(ctx context.Context, who admin.Caller, id string, after int64, limit int) ([]JobItem, error) {
	if err := m.allow(ctx, who, auth.Operator, "read_job", id); err != nil {
		return nil, err
	}
	return m.items(limit, after, func() ([]JobItem, error) { return m.deps.Journal.JobItems(ctx, id, after, limit) })
}

// JobItemsThat returns likewise the moved messages of which one thing became, a word of Fates. Operators may.
func (m *Moves) JobItemsThat(ctx context.Context, who admin.Caller, id, became string, after int64, limit int) ([]JobItem, error) {
	if err := m.allow(ctx, who, auth.Operator, "read_job", id); err != nil {
		return nil, err
	}
	if !slices.Contains(Fates(), became) {
		return nil, admin.Invalid("What became of a message is one of " + strings.Join(Fates(), ", "))
	}
	return m.items(limit, after, func() ([]JobItem, error) { return m.deps.Journal.JobItemsThat(ctx, id, became, after, limit) })
}

func (m *Moves) items(limit int, after int64, read func() ([]JobItem, error)) ([]JobItem, error) {
	if limit < 1 || limit > maxItemPage || after < 0 {
		return nil, admin.Invalid(fmt.Sprintf("A page has 1 to %d messages", maxItemPage))
	}
	items, err := read()
	if err != nil {
		return nil, admin.JournalError("The messages of the job cannot be read", err)
	}
	return items, nil
}

// BackOf returns the messages of a job that the newest look at its dead-letter queue found there again, by their references, and that
// look. It fails as a conflict when there is none such, and when a job of the queue has ended since that look. Operators may.
func (m *Moves) BackOf(ctx context.Context, who admin.Caller, id string) (scan string, refs []string, err error) {
	if err := m.allow(ctx, who, auth.Operator, "read_job", id); err != nil {
		return "", nil, err
	}
	job, err := m.read(ctx, id)
	if err != nil {
		return "", nil, err
	}
	kept := m.scans.Newest(job.Plan.Request.Pipeline, job.Plan.Source)
	if kept == nil {
		return "", nil, admin.Conflict("What a look found of these messages is not kept any more: look at the queue again")
	}
	if moved, err := m.movedSince(ctx, job.Plan, kept.Raw.At); err != nil {
		return "", nil, admin.JournalError("The jobs cannot be read", err)
	} else if moved {
		return "", nil, admin.Conflict("A job has ended since the newest look at the queue: look again")
	}
	for i := range kept.Raw.Letters {
		if l := &kept.Raw.Letters[i]; deadletter.RanAs(l.Headers) == id {
			refs = append(refs, l.Ref)
		}
	}
	if len(refs) == 0 {
		return "", nil, admin.Conflict("The newest look at the queue found no message of this job there")
	}
	return kept.Raw.ID, refs, nil
}

// recentJobs is among how many jobs, the newest, is looked for one that has ended since a look: a look is kept for minutes.
const recentJobs = 50

// movedSince reports whether a job over the queue of a plan has ended since.
func (m *Moves) movedSince(ctx context.Context, p move.Plan, since time.Time) (bool, error) {
	jobs, err := m.deps.Journal.Jobs(ctx, recentJobs)
	return slices.ContainsFunc(jobs, func(j JobSummary) bool {
		return j.Pipeline == p.Request.Pipeline && j.Queue == p.Request.Queue && j.Ended.After(since)
	}), err
}

// ItemsOf returns what jobs did to messages with an id, newest first, each with its job. Operators may.
func (m *Moves) ItemsOf(ctx context.Context, who admin.Caller, id string) ([]JobItem, error) {
	if err := m.allow(ctx, who, auth.Operator, "look_up_jobs", ""); err != nil {
		return nil, err
	}
	if id == "" || len(id) > admin.MaxTerm {
		return nil, admin.Invalid(fmt.Sprintf("A message id to look up has 1 to %d bytes", admin.MaxTerm))
	}
	items, err := m.deps.Journal.ItemsOf(ctx, id, maxItemsOf)
	if err != nil {
		return nil, admin.JournalError("The jobs cannot be read", err)
	}
	return items, nil
}
