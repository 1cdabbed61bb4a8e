package jobs_test

import (
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

func TestAJobSelectsByBodyWhatItsPlanHasCounted(t *testing.T) {
	w := newWard(t)
	w.swell(4, 1000)
	id := w.begin(t, move.Request{Scan: w.look(t).ID, Filter: "body:large-3"})
	job := w.until(t, id, func(j jobs.Job) bool { return j.State.Final() })
	if job.State != jobs.JobDone || job.Moved != 1 || !slices.Equal(w.holds("orders"), []string{"large-3"}) {
		t.Errorf("%s %q, %+v: %v", job.State, job.Why, job.Counts, w.holds("orders"))
	}
}

func TestAJobThatBeganWithAFewMessagesSaysHowManyOfItsPlanWereMissing(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) {
		runs := scheme
		runs.OnFailed = "run"
		d.Stores[0].Scheme = runs
		var err error
		d.Preflight, err = preflight.New(d.Pipelines, d.Stores)
		admintest.Must(t, err)
	})
	ids := numbered("first", 20)
	w.die(ids...)
	for _, id := range ids {
		w.markers[id] = dedup.Failed
	}
	w.once(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, id := range ids {
			w.markers[id] = dedup.Done
		}
	})
	p, err := w.planMove(t, ada, move.Request{Scan: w.look(t).ID, Filter: "id:first*", Canary: 3})
	admintest.Must(t, err)
	w.take(deadQueue.Name, 5)
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	admintest.Must(t, err)
	job := w.until(t, id, func(j jobs.Job) bool { return j.State.Final() })
	if job.State != jobs.JobStopped || !strings.HasPrefix(job.Why, "5 of the 20 messages that were planned could not be found") {
		t.Errorf("%s %q, %+v, %d items", job.State, job.Why, job.Counts, job.Items)
	}
}
