package jobs_test

import (
	"context"
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// A heldUp decider is asked twice about all that is to be sent, as where a broker in alarm reads nothing meanwhile.
type heldUp struct{ requeue.Decider }

func (h heldUp) Decide(ctx context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error) {
	decisions, err := h.Decider.Decide(ctx, letters)
	if err != nil {
		return nil, err
	}
	var again []dedup.DeadLetter
	var taken []requeue.Decision
	var places []int
	for i, d := range decisions {
		if d.Target != "" {
			again, taken, places = append(again, letters[i]), append(taken, d), append(places, i)
		}
	}
	h.Undecide(again, taken)
	anew, err := h.Decider.Decide(ctx, again)
	if err != nil {
		return nil, err
	}
	for n, i := range places {
		decisions[i] = anew[n]
	}
	return decisions, nil
}

func TestWhatAnAlarmHeldUpIsNoCopyOfItself(t *testing.T) {
	for name, refs := range map[string]bool{"a whole queue": false, "picked messages": true} {
		t.Run(name, func(t *testing.T) {
			var w *ward
			w = newWard(t, func(d *jobs.DeadLettersDeps) {
				d.Run = func(ctx context.Context, ends requeue.Ends, cfg requeue.Config, decide requeue.Decider, report func(context.Context, []requeue.Settled) error) (requeue.Result, error) {
					return w.run(ctx, ends, cfg, heldUp{decide}, report)
				}
			})
			w.die(numbered("alarm", 12)...)
			w.die("alarm-3")
			req := move.Request{Whole: true}
			if scan := w.look(t); refs {
				req = move.Request{Scan: scan.ID}
				for _, l := range scan.Letters {
					req.Refs = append(req.Refs, l.Ref)
				}
			}
			if job := w.until(t, w.begin(t, req), in(jobs.JobDone)); job.Moved != 12 || len(w.holds(deadQueue.Name)) != 1 {
				t.Errorf("%+v: %q", job.Counts, job.Why)
			}
		})
	}
}
