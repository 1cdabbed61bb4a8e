package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// silentAudit takes nothing.
type silentAudit struct{}

func (silentAudit) Record(context.Context, admin.Entry) error { return errors.New("disk full") }

func TestWithoutAnAuditNothingIsLookedAtOrMoved(t *testing.T) {
	looked := false
	w := newWard(t)
	w.die(numbered("audit", 3)...)
	p, err := w.planMove(t, ada, move.Request{Whole: true})
	admintest.Must(t, err)
	deps := w.deps
	deps.Gate = admin.NewGate(silentAudit{}, w.db, deps.Log)
	deaf := newDeadLetters(deps)
	t.Cleanup(func() { admintest.Must(t, deaf.Close(context.Background())) })
	w.each = func(context.Context) { looked = true }
	if _, err := deaf.Scan(t.Context(), operator, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 1}); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("a look: %v", err)
	}
	if _, err := deaf.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm}); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("a start: %v", err)
	}
	if looked || len(w.holds(deadQueue.Name)) != 3 {
		t.Error("messages were taken")
	}
}

func TestAStoreThatIsDownPausesTheJobAndLeavesItsMessages(t *testing.T) {
	w := newWard(t)
	w.die(numbered("down", 100)...)
	id := w.begin(t, move.Request{Whole: true})
	w.until(t, id, in(jobs.JobDone))
	w.die(numbered("again", 100)...)
	moved := 0
	w.each = func(context.Context) {
		if moved++; moved == 3 {
			w.mu.Lock()
			w.down = true
			w.mu.Unlock()
		}
	}
	id = w.begin(t, move.Request{Whole: true})
	job := w.until(t, id, in(jobs.JobPaused, jobs.JobDone, jobs.JobStopped))
	if job.State != jobs.JobPaused || !strings.Contains(job.Why, "Store shop does not answer") || job.Moved != 12 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	w.mu.Lock()
	w.down = false
	w.mu.Unlock()
	for err := w.ResumeJob(t.Context(), ada, id); err != nil; err = w.ResumeJob(t.Context(), ada, id) {
		if dedup.KindOf(err) != dedup.Conflict {
			t.Fatal(err)
		}
	}
	job = w.until(t, id, func(j jobs.Job) bool { return j.State.Final() })
	if job.State != jobs.JobDone || job.Moved != 100 {
		t.Errorf("%s %q %+v", job.State, job.Why, job.Counts)
	}
}

func TestAJournalThatFailsStopsTheJobAndIsToldLater(t *testing.T) {
	w := newWard(t)
	w.die(numbered("disk", 100)...)
	batches := 0
	w.each = func(context.Context) {
		w.clock.Advance(time.Second)
		if batches++; batches == 5 {
			w.broken.set(true)
		}
	}
	id := w.begin(t, move.Request{Whole: true})
	job := w.until(t, id, func(j jobs.Job) bool { return j.State.Final() })
	if job.State != jobs.JobStopped || !strings.Contains(job.Why, "journal") || job.Moved >= 100 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	if got := len(w.holds("orders")) + len(w.holds(deadQueue.Name)); got != 100 {
		t.Errorf("%d messages are left", got)
	}
	w.broken.set(false)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	for kept := (jobs.Job{}); kept.State != jobs.JobStopped; {
		var err error
		if kept, _, err = w.db.Jobs().Job(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	admintest.Must(t, <-ran)
}

func TestACanaryThatCannotBeJudgedPausesTheJob(t *testing.T) {
	w := newWard(t)
	w.die(numbered("quiet", 20)...)
	id := w.begin(t, move.Request{Whole: true, Canary: 3})
	job := w.until(t, id, in(jobs.JobPaused, jobs.JobDone, jobs.JobStopped))
	if job.State != jobs.JobPaused || job.Moved != 3 || job.Canary == nil || job.Canary.Good || job.Canary.None != 3 {
		t.Fatalf("%s %q %+v, %+v", job.State, job.Why, job.Counts, job.Canary)
	}
	admintest.Must(t, w.CancelJob(t.Context(), operator, id))
	job = w.until(t, id, in(jobs.JobCancelled))
	if got := len(w.holds("orders")) + len(w.holds(deadQueue.Name)); got != 20 || len(w.holds("orders")) != 3 {
		t.Errorf("%d messages are left", got)
	}
}

// TestAJobWaitsUntilItsQueueIsSeenAfterARestart: discovery needs some rounds, and a queue that is not seen yet is not gone.
func TestAJobWaitsUntilItsQueueIsSeenAfterARestart(t *testing.T) {
	w := newWard(t)
	w.die(numbered("seen", 40)...)
	third := make(chan struct{})
	batches := 0
	w.each = func(ctx context.Context) {
		if batches++; batches == 3 {
			close(third)
			<-ctx.Done()
		}
	}
	id := w.begin(t, move.Request{Whole: true})
	<-third
	admintest.Must(t, w.Close(context.Background()))
	seen := w.round.Snapshot()
	unseen := *seen
	unseen.Pipelines = slices.Clone(unseen.Pipelines)
	unseen.Pipelines[0].DeadLetterQueues = nil
	w.round.Set(&unseen)
	w.deadLetters = newDeadLetters(w.deps)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	job := w.until(t, id, func(j jobs.Job) bool { return j.Why != "" })
	if job.State != jobs.JobRunning || !strings.Contains(job.Why, "as soon as its queue has been seen") {
		t.Errorf("%s %q", job.State, job.Why)
	}
	w.round.Set(seen)
	job = w.until(t, id, func(j jobs.Job) bool { return j.State.Final() })
	if job.State != jobs.JobDone || job.Moved != 40 || job.Resumed != 1 {
		t.Errorf("%s %q %+v, resumed %d", job.State, job.Why, job.Counts, job.Resumed)
	}
	cancel()
	admintest.Must(t, <-ran)
}
