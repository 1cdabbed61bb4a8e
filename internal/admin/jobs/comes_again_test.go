package jobs_test

import (
	"context"
	"slices"
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
)

// comeAgain puts the first messages that were moved back at the head of the dead-letter queue, as a broker does that has not read their acks.
func (w *ward) comeAgain(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := slices.Clone(w.queues["orders"][:n])
	for i := range again {
		headers := map[string]any{}
		for name, v := range again[i].Headers {
			if name != message.HeaderRequeueRun {
				headers[name] = v
			}
		}
		again[i].Headers = headers
	}
	w.queues[deadQueue.Name] = append(again, w.queues[deadQueue.Name]...)
}

// takesMore lets a run take so many messages above its limit, as the engine does with those that come again.
func takesMore(w **ward, n int64, cfg *requeue.Config) func(*jobs.DeadLettersDeps) {
	return func(d *jobs.DeadLettersDeps) {
		d.Run = func(ctx context.Context, ends requeue.Ends, c requeue.Config, decide requeue.Decider, report func(context.Context, []requeue.Settled) error) (requeue.Result, error) {
			*cfg = c
			c.Limit += n
			return (*w).run(ctx, ends, c, decide, report)
		}
	}
}

func TestWhatComesAgainAfterALostConnectionIsSentAgain(t *testing.T) {
	var w *ward
	var cfg requeue.Config
	w = newWard(t, takesMore(&w, 4, &cfg))
	w.die(numbered("lost", 12)...)
	w.die("lost-11") // a copy that was there before
	batches := 0
	w.each = func(context.Context) {
		if batches++; batches == 1 {
			w.comeAgain(4)
			cfg.Reconnected()
		}
	}
	job := w.until(t, w.begin(t, move.Request{Whole: true}), in(jobs.JobDone))
	if left := w.holds(deadQueue.Name); !slices.Equal(left, []string{"lost-11"}) || len(w.holds("orders")) != 16 || job.Left != 1 {
		t.Errorf("left are %v, %d at the target, %+v", left, len(w.holds("orders")), job.Counts)
	}
}

func TestWhatComesAgainAfterTheProgramDiedIsSentAgain(t *testing.T) {
	for name, died := range map[string]bool{"it died": true, "it was stopped in order": false} {
		t.Run(name, func(t *testing.T) {
			var w *ward
			var cfg requeue.Config
			w = newWard(t, takesMore(&w, 4, &cfg))
			id := w.interrupted(t, 40, move.Request{Whole: true})
			if died {
				kept, _, err := w.db.Jobs().Job(t.Context(), id)
				admintest.Must(t, err)
				kept.Rested = false
				admintest.Must(t, w.db.Jobs().SaveJob(t.Context(), kept, nil))
			}
			w.comeAgain(4)
			w.reopen(t)
			w.until(t, id, in(jobs.JobDone))
			left, doubtful := 4, 0
			if died {
				left, doubtful = 0, 8
			}
			if got := w.holds(deadQueue.Name); len(got) != left || len(cfg.Doubtful) != doubtful {
				t.Errorf("left are %v, want %d; %d are doubtful, want %d", got, left, len(cfg.Doubtful), doubtful)
			}
		})
	}
}

// TestWhatIsUncertainStaysSoAcrossAPause: that the connection was replaced, or was not, is known to whoever resumes the job.
func TestWhatIsUncertainStaysSoAcrossAPause(t *testing.T) {
	for name, restart := range map[string]bool{"in one program": false, "after another start": true} {
		t.Run(name, func(t *testing.T) {
			var w *ward
			lost := true
			w = newWard(t, func(d *jobs.DeadLettersDeps) {
				d.Run = func(ctx context.Context, ends requeue.Ends, c requeue.Config, decide requeue.Decider, report func(context.Context, []requeue.Settled) error) (requeue.Result, error) {
					if !lost {
						c.Limit += 4
						return w.run(ctx, ends, c, decide, report)
					}
					lost = false
					c.Limit = 4
					r, err := w.run(ctx, ends, c, decide, report)
					r.Stop, r.Uncertain = requeue.StopConnection, true
					return r, err
				}
			})
			w.die(numbered("pause", 12)...)
			id := w.begin(t, move.Request{Whole: true})
			w.until(t, id, in(jobs.JobPaused))
			w.comeAgain(4)
			if job := w.toItsEnd(t, id, restart, func() {}); job.State != jobs.JobDone || len(w.holds(deadQueue.Name)) != 0 {
				t.Errorf("%s %q, left are %v", job.State, job.Why, w.holds(deadQueue.Name))
			}
		})
	}
}

func TestAJobOfAnAdminWithALimitGoesOnWithWhatIsLeftOfIt(t *testing.T) {
	for name, died := range map[string]bool{"after the program died": true, "after it was stopped in order": false} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t, limitOfFive)
			id := w.interrupted(t, 40, move.Request{Whole: true, Most: 20})
			if died {
				kept, _, err := w.db.Jobs().Job(t.Context(), id)
				admintest.Must(t, err)
				kept.Rested = false
				admintest.Must(t, w.db.Jobs().SaveJob(t.Context(), kept, nil))
			}
			w.reopen(t)
			if job := w.until(t, id, in(jobs.JobDone, jobs.JobStopped)); job.State != jobs.JobDone || job.Moved != 20 || len(w.holds("orders")) != 20 {
				t.Errorf("%s %q %+v", job.State, job.Why, job.Counts)
			}
		})
	}
}
