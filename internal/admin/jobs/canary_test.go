package jobs_test

import (
	"context"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// once does something when the first batch of a run was moved: consumers have had the first messages before anybody watches them.
func (w *ward) once(do func()) {
	batches := 0
	w.each = func(context.Context) {
		if batches++; batches == 1 {
			do()
		}
	}
}

func TestMarkersFromBeforeACanaryTellNothingOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		// before is the state that each marker has, after what consumers make of it; empty for none.
		before, after dedup.State
		want          jobs.CanaryVerdict
		state         jobs.JobState
	}{
		"done before, and nobody consumes":         {dedup.Done, dedup.Done, jobs.CanaryVerdict{Skipped: 3}, jobs.JobPaused},
		"failed before, and nobody consumes":       {dedup.Failed, dedup.Failed, jobs.CanaryVerdict{None: 3}, jobs.JobPaused},
		"failed before, and done by its consumers": {dedup.Failed, dedup.Done, jobs.CanaryVerdict{Done: 3, Good: true}, jobs.JobDone},
		"no marker before, and failed since":       {"", dedup.Failed, jobs.CanaryVerdict{Failed: 3}, jobs.JobStopped},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t, func(d *jobs.DeadLettersDeps) {
				runs := scheme
				runs.OnFailed = "run"
				d.Stores[0].Scheme = runs
				var err error
				d.Preflight, err = preflight.New(d.Pipelines, d.Stores)
				admintest.Must(t, err)
			})
			w.die(numbered("first", 20)...)
			mark := func(state dedup.State) {
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, id := range numbered("first", 20) {
					if w.markers[id] = state; state == "" {
						delete(w.markers, id)
					}
				}
			}
			mark(c.before)
			w.once(func() { mark(c.after) })
			id := w.begin(t, move.Request{Whole: true, Canary: 3})
			job := w.until(t, id, in(jobs.JobPaused, jobs.JobDone, jobs.JobStopped))
			if job.Canary == nil || job.State != c.state {
				t.Fatalf("%s %q %+v, %+v", job.State, job.Why, job.Counts, job.Canary)
			}
			got := *job.Canary
			got.Sent, got.At, got.Text, got.BackBy = 0, time.Time{}, "", ""
			if got != c.want {
				t.Errorf("%+v: %s", got, job.Canary.Text)
			}
		})
	}
}

// TestAFailureThatHappensAgainIsTold: the marker of a message that fails once more counts another attempt.
func TestAFailureThatHappensAgainIsTold(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) {
		runs := scheme
		runs.OnFailed = "run"
		d.Stores[0].Scheme = runs
		var err error
		d.Preflight, err = preflight.New(d.Pipelines, d.Stores)
		admintest.Must(t, err)
	})
	w.die(numbered("first", 20)...)
	for _, id := range numbered("first", 20) {
		w.markers[id] = dedup.Failed
	}
	w.once(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.attempts = 1
	})
	id := w.begin(t, move.Request{Whole: true, Canary: 3})
	if job := w.until(t, id, in(jobs.JobPaused, jobs.JobDone, jobs.JobStopped)); job.State != jobs.JobStopped || job.Canary.Failed != 3 {
		t.Errorf("%s %q, %+v", job.State, job.Why, job.Canary)
	}
}
