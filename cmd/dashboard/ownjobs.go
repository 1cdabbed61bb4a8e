package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/job"
)

const (
	// jobsWait is how long the alert rules wait for the journal to tell of jobs, well within the shortest interval, and jobsKnown how many
	// of the newest they know of.
	jobsWait  = 500 * time.Millisecond
	jobsKnown = 50
)

// withOwnJobs is what was read of brokers and stores with what our own jobs did, so that an alert may name a requeue as the cause of
// duplicates. Everybody reads alerts: they do not say who ran a job.
type withOwnJobs struct {
	observed interface{ Snapshot() *dedup.Snapshot }
	journal  interface {
		Jobs(ctx context.Context, limit int) ([]jobs.JobSummary, error)
	}
	log *slog.Logger
	// last are the events that were read last, which hold while none can be.
	last atomic.Pointer[map[string][]dedup.Event]
}

// Snapshot returns the newest snapshot. Rules must not depend on jobs: those that were known hold while none can be read.
func (w *withOwnJobs) Snapshot() *dedup.Snapshot {
	snap := w.observed.Snapshot()
	if snap == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), jobsWait)
	defer cancel()
	jobs, err := w.journal.Jobs(ctx, jobsKnown)
	if err != nil {
		w.log.Warn("jobs cannot be read, so that no alert can name a new one as its cause", "err", err)
		if known := w.last.Load(); known != nil {
			return snap.With(*known)
		}
		return snap
	}
	for i := range jobs {
		jobs[i].By = ""
	}
	events := job.Events(jobs)
	w.last.Store(&events)
	return snap.With(events)
}
