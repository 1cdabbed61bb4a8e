package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/lab/admintest"
)

// aWhile bounds how long a look of a test holds messages for somebody who, in the right order, waits for its end.
const aWhile = 300 * time.Millisecond

func TestAJobThatIsStartedDuringALookMovesWhatTheLookHolds(t *testing.T) {
	w := newWard(t)
	w.die(numbered("held", 20)...)
	p, err := w.planMove(t, ada, move.Request{Whole: true})
	admintest.Must(t, err)
	begun := make(chan string, 1)
	w.looking = func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			id, err := w.StartJob(context.Background(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
			if err != nil {
				t.Error(err)
			}
			begun <- id
		}()
		select {
		case <-ended:
		case <-time.After(aWhile):
		}
	}
	w.look(t)
	if job := w.until(t, <-begun, in(jobs.JobDone)); job.Limit != 20 || job.Moved != 20 {
		t.Errorf("%d of %d moved, %q", job.Moved, job.Limit, job.Why)
	}
}

// A lateJournal does something before it claims a queue for a job.
type lateJournal struct {
	jobs.JobJournal
	before func()
}

func (l *lateJournal) BeginJob(ctx context.Context, job jobs.Job, token string) (string, error) {
	l.before()
	return l.JobJournal.BeginJob(ctx, job, token)
}

func TestAJobWaitsForALookThatBeganBeforeIt(t *testing.T) {
	journal := &lateJournal{}
	w := newWard(t, func(d *jobs.DeadLettersDeps) { journal.JobJournal, d.Journal = d.Journal, journal })
	w.die(numbered("held", 20)...)
	looked := make(chan error, 1)
	journal.before = func() {
		holds := make(chan struct{})
		w.looking = func() {
			close(holds)
			<-time.After(aWhile) // in the wrong order the job is at its end before
		}
		go func() {
			_, err := w.Scan(context.Background(), operator, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 20})
			looked <- err
		}()
		<-holds
	}
	job := w.until(t, w.begin(t, move.Request{Whole: true}), in(jobs.JobDone))
	admintest.Must(t, <-looked)
	if job.Moved != 20 || job.Why != "" {
		t.Errorf("%d moved, %q", job.Moved, job.Why)
	}
}

func TestAJobSaysWhenTheQueueHeldLessThanWhenItBegan(t *testing.T) {
	journal := &lateJournal{}
	w := newWard(t, func(d *jobs.DeadLettersDeps) { journal.JobJournal, d.Journal = d.Journal, journal })
	w.die(numbered("gone", 20)...)
	journal.before = func() { w.take(deadQueue.Name, 15) }
	job := w.until(t, w.begin(t, move.Request{Whole: true}), in(jobs.JobStopped))
	if job.Moved != 5 || !strings.Contains(job.Why, "15 messages of 20") {
		t.Errorf("%d moved, %q", job.Moved, job.Why)
	}
}
