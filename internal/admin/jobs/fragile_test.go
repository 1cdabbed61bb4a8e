package jobs_test

import (
	"context"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// quorumWard is a ward whose dead-letter queue counts returns, and whose runs end as stop says.
func quorumWard(t *testing.T, stop requeue.Stop) *ward {
	w := newWard(t, func(d *jobs.DeadLettersDeps) {
		d.Run = func(context.Context, requeue.Ends, requeue.Config, requeue.Decider, func(context.Context, []requeue.Settled) error) (requeue.Result, error) {
			return requeue.Result{Stop: stop, Text: stop.Text()}, nil
		}
	})
	w.die(numbered("fragile", 3)...)
	w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Type, q.Policy = "quorum", map[string]any{"delivery-limit": int64(10)} })
	return w
}

func TestNothingMoreIsTakenOutOfAQueueThatWouldDestroyWhatComesBackUntilItsLimitIsRaised(t *testing.T) {
	w := quorumWard(t, requeue.StopFragile)
	job := w.until(t, w.begin(t, move.Request{Whole: true}), in(jobs.JobStopped))
	if !strings.Contains(job.Why, "raise the delivery limit") {
		t.Errorf("stopped because %q", job.Why)
	}
	refused := func() bool {
		p, err := w.planMove(t, ada, move.Request{Whole: true})
		admintest.Must(t, err)
		for _, g := range p.Guards {
			if g.Blocking && strings.Contains(g.Text, "raise the delivery limit") {
				return true
			}
		}
		return false
	}
	if !refused() {
		t.Error("more may be moved out of it")
	}
	w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Policy = map[string]any{"delivery-limit": int64(30)} })
	if refused() {
		t.Error("nothing may be moved out of it after its limit was raised")
	}
}
