package jobs_test

import (
	"context"
	"sync"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// A clearer clears nothing, and takes down what it was asked for.
type clearer struct {
	outcome dedup.Outcome // cleared where it is empty

	mu    sync.Mutex
	asked []admin.ClearForRequest
}

func (c *clearer) WhyNot(string) string { return "" }

func (c *clearer) ClearFor(_ context.Context, _ admin.Caller, req admin.ClearForRequest) (string, map[string]dedup.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, req)
	outcomes := map[string]dedup.Outcome{}
	for _, key := range req.Keys {
		if outcomes[key] = c.outcome; c.outcome.Result == "" {
			outcomes[key] = dedup.Outcome{Result: dedup.Cleared}
		}
	}
	return "operation", outcomes, nil
}

func (c *clearer) requests() []admin.ClearForRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]admin.ClearForRequest(nil), c.asked...)
}

func TestAMarkerOfDoneWorkIsClearedOnlyWhereItsIDWasTyped(t *testing.T) {
	both := map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.ClearFirst, preflight.ClassSkipped: preflight.ClearFirst}
	for name, c := range map[string]struct {
		planned, started dedup.State
		confirm          string
		clears, single   bool
	}{
		"done, and its id typed": {dedup.Done, dedup.Done, "one", true, true},
		"under way":              {dedup.Processing, dedup.Processing, "", true, false},
		"under way when it was planned, and done since": {dedup.Processing, dedup.Done, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			clear := &clearer{}
			w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Clear = clear })
			w.die("one")
			w.markers["one"] = c.planned
			scan := w.look(t)
			p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}, Choices: both})
			admintest.Must(t, err)
			if p.Confirm != c.confirm {
				t.Errorf("%q must be typed", p.Confirm)
			}
			w.mu.Lock()
			w.markers["one"] = c.started
			w.mu.Unlock()
			id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
			admintest.Must(t, err)
			job := w.until(t, id, in(jobs.JobDone))
			asked := clear.requests()
			if (len(asked) == 1) != c.clears || (job.Moved == 1) != c.clears {
				t.Fatalf("asked %+v, %+v", asked, job.Counts)
			}
			if c.clears && asked[0].Single != c.single {
				t.Errorf("a marker of done work may be cleared: %t", asked[0].Single)
			}
		})
	}
}

func TestAMessageWhoseRetryCounterIsLeftIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		failures int64 // of 5
		outcome  dedup.Outcome
		moved    int64
	}{
		"the counter is left":                         {4, dedup.ClearedAlone("it is now 5"), 0},
		"the marker ended by itself, not its counter": {4, dedup.Outcome{Result: dedup.Gone}, 0},
		"the marker ended, and its counter is low":    {0, dedup.Outcome{Result: dedup.Gone}, 1},
		"both are cleared":                            {4, dedup.Outcome{Result: dedup.Cleared}, 1},
		"what goes with the marker is not so":         {0, dedup.Outcome{Result: dedup.Cleared, Text: "but not what goes with it: NOPERM"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Clear = &clearer{outcome: c.outcome} })
			w.die("one")
			w.markers["one"], w.attempts = dedup.Processing, c.failures
			scan := w.look(t)
			p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}, Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.ClearFirst}})
			admintest.Must(t, err)
			id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
			admintest.Must(t, err)
			if job := w.until(t, id, in(jobs.JobDone)); int64(job.Moved) != c.moved {
				t.Errorf("%+v", job.Counts)
			}
		})
	}
}
