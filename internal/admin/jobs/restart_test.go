package jobs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/lab/admintest"
)

// A slowJournal does something the first time that the messages of a job are read from it.
type slowJournal struct {
	jobs.JobJournal
	did   atomic.Bool
	first func()
}

func (s *slowJournal) JobItems(ctx context.Context, id string, after int64, limit int) ([]jobs.JobItem, error) {
	if s.did.CompareAndSwap(false, true) {
		s.first()
	}
	return s.JobJournal.JobItems(ctx, id, after, limit)
}

// interrupted returns a job that a stop of the program has interrupted after two batches of its messages.
func (w *ward) interrupted(t *testing.T, n int, req move.Request) string {
	t.Helper()
	w.die(numbered("cut", n)...)
	second := make(chan struct{})
	batches := 0
	w.each = func(ctx context.Context) {
		if batches++; batches == 2 {
			close(second)
			<-ctx.Done()
		}
	}
	id := w.begin(t, req)
	<-second
	admintest.Must(t, w.Close(context.Background()))
	w.each = nil
	return id
}

// reopen starts DeadLetters again, as a start of the program does.
func (w *ward) reopen(t *testing.T) {
	t.Helper()
	w.deadLetters = newDeadLetters(w.deps)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	t.Cleanup(func() { cancel(); admintest.Must(t, <-ran) })
}

func TestAJobThatIsCancelledWhileItIsAboutToGoOnMovesNothingMore(t *testing.T) {
	w := newWard(t)
	id := w.interrupted(t, 40, move.Request{Whole: true})
	journal, done := &slowJournal{JobJournal: w.deps.Journal}, make(chan error, 1)
	journal.first = func() { done <- w.CancelJob(context.Background(), operator, id) }
	w.deps.Journal = journal
	w.reopen(t)
	admintest.Must(t, <-done)
	w.until(t, id, in(jobs.JobCancelled))
	admintest.Must(t, w.Close(context.Background())) // waits for whatever still runs
	if kept, _, err := w.db.Jobs().Job(t.Context(), id); err != nil || kept.State != jobs.JobCancelled || kept.Moved != 8 || len(w.holds("orders")) != 8 {
		t.Errorf("%s, %d counted, %d at the target, %v", kept.State, kept.Moved, len(w.holds("orders")), err)
	}
}

func TestOfTwoWhoLetAJobGoOnAtOnceOneDoes(t *testing.T) {
	w := newWard(t)
	id := w.interrupted(t, 40, move.Request{Whole: true})
	journal := &slowJournal{JobJournal: w.deps.Journal}
	journal.first = func() {}
	w.deps.Journal = journal
	w.deadLetters = newDeadLetters(w.deps)
	kept, _, err := w.db.Jobs().Job(t.Context(), id)
	admintest.Must(t, err)
	kept.State = jobs.JobPaused
	admintest.Must(t, w.db.Jobs().SaveJob(t.Context(), kept, nil))
	journal.did.Store(false)
	journal.first = func() {
		admintest.Must(t, w.ResumeJob(context.Background(), ada, id))
		w.until(t, id, in(jobs.JobDone))
	}
	if err := w.ResumeJob(t.Context(), ada, id); err == nil {
		t.Error("the job went on twice")
	}
	if job := w.until(t, id, in(jobs.JobDone)); job.Moved != 40 {
		t.Errorf("%+v", job.Counts)
	}
}

// A stutteringJournal refuses to keep a job so many times, and tells when it was asked for jobs that were not judged.
type stutteringJournal struct {
	jobs.JobJournal
	refusals atomic.Int64
	asked    chan struct{}
	once     sync.Once
}

func (s *stutteringJournal) SaveJob(ctx context.Context, j jobs.Job, items []jobs.JobItem) error {
	if s.refusals.Add(-1) >= 0 {
		return errors.New("disk full")
	}
	return s.JobJournal.SaveJob(ctx, j, items)
}

func (s *stutteringJournal) UnjudgedJobs(ctx context.Context, since time.Time) ([]string, error) {
	defer s.once.Do(func() { close(s.asked) })
	return s.JobJournal.UnjudgedJobs(ctx, since)
}

func TestAJobWhoseEndIsWrittenLaterIsJudgedThen(t *testing.T) {
	journal := &stutteringJournal{asked: make(chan struct{})}
	w := newWard(t, func(d *jobs.DeadLettersDeps) { journal.JobJournal, d.Journal = d.Journal, journal })
	admintest.Must(t, w.Close(context.Background()))
	w.reopen(t)
	<-journal.asked
	w.die(numbered("late", 20)...)
	batches := 0
	w.each = func(context.Context) {
		w.clock.Advance(time.Second)
		if batches++; batches == 2 {
			journal.refusals.Store(2) // the progress, and then the end
		}
	}
	id := w.begin(t, move.Request{Whole: true})
	if job := w.until(t, id, func(j jobs.Job) bool { return j.Aftermath != nil }); job.State != jobs.JobStopped {
		t.Errorf("%s %q", job.State, job.Why)
	}
}
