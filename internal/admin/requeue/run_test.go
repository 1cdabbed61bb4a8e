package requeue_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// A trial is one run over n messages to queue "a", in a bubble, with what is special about it.
type trial struct {
	m       *model
	cfg     requeue.Config
	ends    requeue.Ends
	decider requeue.Decider
	report  func(context.Context, []requeue.Settled) error
	settled []requeue.Settled
	waiting []string
	ctx     context.Context
}

func newTrial(n int, faults ...fault) *trial {
	tr := &trial{m: newModel(1, faults), decider: decider{}, ctx: context.Background()}
	dead := &modelQueue{name: "dead"}
	tr.m.addQueue(dead)
	tr.m.addQueue(&modelQueue{name: "a"})
	for i := range n {
		id := fmt.Sprintf("m%d", i)
		dead.push(id, seedMessage(id, "a"))
	}
	tr.ends = modelEnds{tr.m}
	tr.report = func(_ context.Context, settled []requeue.Settled) error {
		tr.settled = append(tr.settled, settled...)
		return nil
	}
	tr.cfg = requeue.Config{
		Run: "run", Queue: dedup.QueueRef{Vhost: "/", Name: "dead"}, Limit: int64(n), Window: 8,
		Waiting: func(why string) { tr.waiting = append(tr.waiting, why) },
	}
	return tr
}

func (tr *trial) run() (requeue.Result, error) {
	return requeue.Run(tr.ctx, tr.ends, tr.cfg, tr.decider, tr.report)
}

// mustStop fails the test unless the run ends for a reason, with everything that was held back in its queue.
func (tr *trial) mustStop(t *testing.T, want requeue.Stop) requeue.Result {
	t.Helper()
	result, err := tr.run()
	if result.Stop != want {
		t.Fatalf("stopped with %q (%s, %v), want %q", result.Stop, result.Text, err, want)
	}
	if says := want == requeue.StopDecide || want == requeue.StopReport || want == requeue.StopConnection; says != (err != nil) {
		t.Errorf("stop %q came with the error %v", want, err)
	}
	if what := heldAtEnd(ending{m: tr.m}); what != "" {
		t.Error(what)
	}
	return result
}

func (tr *trial) depth(queue string) int { return tr.m.depth(queue) }

// deciderFunc decides by a function.
type deciderFunc func(ctx context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error)

func (f deciderFunc) Decide(ctx context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error) {
	return f(ctx, letters)
}

// Undecide implements requeue.Decider.
func (deciderFunc) Undecide([]dedup.DeadLetter, []requeue.Decision) {}

func TestATargetThatIsNotThereIsFoundOutByFewMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(1000)
		tr.cfg.Window = 256
		delete(tr.m.queues, "a")
		result := tr.mustStop(t, requeue.StopTarget)
		if result.Returned != 20 || tr.depth("dead") != 1000 || !strings.Contains(result.Text, "NO_ROUTE") {
			t.Errorf("%+v, %d are left", result, tr.depth("dead"))
		}
	})
}

func TestAFullTargetTakesWhatItCanAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(3000)
		tr.cfg.Window = 256
		tr.m.queues["a"].capacity = 1000
		result := tr.mustStop(t, requeue.StopTarget)
		if result.Moved != 1000 || tr.depth("a") != 1000 || tr.depth("dead") != 2000 {
			t.Errorf("%+v, %d at the target, %d are left", result, tr.depth("a"), tr.depth("dead"))
		}
	})
}

func TestAConsumerThatReturnsEverythingIsNotFedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(30)
		tr.m.queues["a"].bounces = "dead"
		for run := 1; run <= 3; run++ {
			tr.cfg.Run = fmt.Sprintf("run %d", run)
			tr.mustStop(t, requeue.StopLimit)
			for id, n := range tr.m.published {
				if n != run {
					t.Fatalf("%s was published %d times in %d runs", id, n, run)
				}
			}
		}
		tr.cfg.Run, tr.cfg.Single = "run 4", true
		if result := tr.mustStop(t, requeue.StopLimit); result.Guarded != 30 || result.Moved != 0 {
			t.Errorf("the fourth run ended with %+v", result)
		}
		decides := tr.decider
		tr.cfg.Run, tr.decider = "run 4b", deciderFunc(func(_ context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error) {
			return make([]requeue.Decision, len(letters)), nil
		})
		if result := tr.mustStop(t, requeue.StopLimit); result.Guarded != 0 || result.Left != 30 {
			t.Errorf("messages that were to stay are told as failures: %+v", result)
		}
		tr.decider = decides
		tr.cfg.Run, tr.cfg.MaxRequeues = "run 5", -1
		if result := tr.mustStop(t, requeue.StopLimit); result.Moved != 30 {
			t.Errorf("the forced run ended with %+v", result)
		}
	})
}

func TestARunStopsAtTheFirstMessageThatItHasSentItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(30)
		tr.m.queues["a"].bounces = "dead"
		tr.cfg.Limit = 60 // it was resumed, and the queue has grown by what it sent
		tr.cfg.Single = true
		var asked int
		tr.decider = deciderFunc(func(ctx context.Context, l []dedup.DeadLetter) ([]requeue.Decision, error) {
			asked += len(l)
			return decider{}.Decide(ctx, l)
		})
		result := tr.mustStop(t, requeue.StopBounced)
		if asked != 30 {
			t.Errorf("it was decided on %d messages: a marker may have been cleared for one that is not sent", asked)
		}
		if result.Moved != 30 || result.Bounced != 1 || tr.depth("dead") != 30 {
			t.Errorf("%+v, %d are left", result, tr.depth("dead"))
		}
	})
}

func TestAPauseLeavesEveryMessageInOnePlaceAndTheRunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(400)
		tr.cfg.Rate = 100
		for tr.depth("dead") > 0 {
			ctx, cancel := context.WithTimeout(context.Background(), 1300*time.Millisecond)
			tr.ctx, tr.cfg.Limit = ctx, int64(tr.depth("dead"))
			before := tr.depth("dead")
			result, err := tr.run()
			cancel()
			if err != nil || result.Stop != requeue.StopCancelled && result.Stop != requeue.StopLimit {
				t.Fatalf("%+v, %v", result, err)
			}
			if tr.depth("dead") != before-int(result.Moved) || tr.depth("a")+tr.depth("dead") != 400 || result.Unknown > 0 {
				t.Fatalf("%d and %d of 400 after %+v", tr.depth("dead"), tr.depth("a"), result)
			}
		}
		if ids := tr.m.queues["a"].ids(); len(tr.m.queues["a"].ids()) != 400 || ids[399] != "m399" {
			t.Errorf("%d arrived", len(ids))
		}
	})
}

func TestACancelInAnAlarmDoesNotWaitForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(100, fault{at: 80, kind: "alarm", lasts: time.Hour})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		tr.ctx = ctx
		start := time.Now()
		result := tr.mustStop(t, requeue.StopCancelled)
		if took := time.Since(start); took > 80*time.Second {
			t.Errorf("took %s", took)
		}
		if result.Unknown > 8 || tr.depth("dead") != 100-int(result.Moved) {
			t.Errorf("%+v, %d are left", result, tr.depth("dead"))
		}
		time.Sleep(time.Hour)
	})
}

func TestWhoCannotDecideOrReportStopsTheRun(t *testing.T) {
	broken := errors.New("the store does not answer")
	for name, tc := range map[string]struct {
		stop  requeue.Stop
		spoil func(*trial)
	}{
		"no decision": {requeue.StopDecide, func(tr *trial) {
			tr.decider = deciderFunc(func(context.Context, []dedup.DeadLetter) ([]requeue.Decision, error) { return nil, broken })
		}},
		"too few decisions": {requeue.StopDecide, func(tr *trial) {
			tr.decider = deciderFunc(func(_ context.Context, l []dedup.DeadLetter) ([]requeue.Decision, error) {
				return make([]requeue.Decision, len(l)-1), nil
			})
		}},
		"no report": {requeue.StopReport, func(tr *trial) {
			tr.report = func(context.Context, []requeue.Settled) error { return broken }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newTrial(2000)
				tr.cfg.Window = 32
				tc.spoil(tr)
				result := tr.mustStop(t, tc.stop)
				if tr.depth("dead")+tr.depth("a") != 2000 || tr.depth("a") != int(result.Moved) {
					t.Errorf("%d and %d of 2000 after %+v", tr.depth("dead"), tr.depth("a"), result)
				}
			})
		})
	}
}

func TestNothingBehindABatchThatCannotBeDecidedIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(50)
		calls := 0
		tr.decider = deciderFunc(func(ctx context.Context, l []dedup.DeadLetter) ([]requeue.Decision, error) {
			if calls++; calls == 2 {
				return nil, errors.New("the store does not answer")
			}
			return decider{}.Decide(ctx, l)
		})
		result := tr.mustStop(t, requeue.StopDecide)
		if got := tr.m.queues["dead"].ids(); len(got) != 50-int(result.Moved) || !slices.Contains(got, "m49") {
			t.Errorf("%+v, and %v are left", result, got)
		}
	})
}

func TestMessagesThatAreLeftOutAreHeldWithinBounds(t *testing.T) {
	leaveAll := deciderFunc(func(_ context.Context, l []dedup.DeadLetter) ([]requeue.Decision, error) {
		decisions := make([]requeue.Decision, len(l))
		for i := range decisions {
			decisions[i].Why = "it would be swallowed"
		}
		return decisions, nil
	})
	for name, tc := range map[string]struct {
		stop requeue.Stop
		left int64
		set  func(*requeue.Config)
	}{
		"one by one, all":             {requeue.StopLimit, 40, func(c *requeue.Config) { c.Single = true }},
		"one by one, by number":       {requeue.StopHeld, 10, func(c *requeue.Config) { c.Single, c.MaxHeld = true, 10 }},
		"one by one, by bytes":        {requeue.StopHeld, 5, func(c *requeue.Config) { c.Single, c.MaxHeldBytes = true, 50 }},
		"sent ahead, half the window": {requeue.StopHeld, 4, func(*requeue.Config) {}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newTrial(40)
				tr.decider = leaveAll
				tc.set(&tr.cfg)
				result := tr.mustStop(t, tc.stop)
				if result.Left != tc.left || tr.depth("dead") != 40 || tr.settled[0].Text != "it would be swallowed" {
					t.Errorf("%+v, %d are left", result, tr.depth("dead"))
				}
			})
		})
	}
}

// TestFailuresDestroyNothingWhereReturnsCount takes a queue that destroys what comes back more than 10 times, and fails until it is told
// to stop for good.
// deafSource stops answering after some messages, and hears nothing but its close.
// endsFunc opens its sources by a function.
// acklessSource ends with the first ack.
func TestAMessageThatCannotBeSentIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(10)
		tr.cfg.Single = true
		tr.m.queues["dead"].ready[3].message.Headers["odd"] = []any{uint64(1)}
		result := tr.mustStop(t, requeue.StopLimit)
		if result.Moved != 9 || result.Left != 1 || !slices.Equal(tr.m.queues["dead"].ids(), []string{"m3"}) {
			t.Errorf("%+v, %v are left", result, tr.m.queues["dead"].ids())
		}
		i := slices.IndexFunc(tr.settled, func(s requeue.Settled) bool { return s.Outcome == requeue.Left })
		if s := tr.settled[i]; s.Seq != 4 || s.MessageID != "m3" || !strings.Contains(s.Text, "uint64") || s.Decision.Target != "a" {
			t.Errorf("settled as %+v", s)
		}
	})
}

func TestAConfigurationIsCheckedBeforeAnythingIsTouched(t *testing.T) {
	good := newTrial(1).cfg
	for name, spoil := range map[string]func(*requeue.Config){
		"no name":            func(c *requeue.Config) { c.Run = "" },
		"no queue":           func(c *requeue.Config) { c.Queue.Name = "" },
		"a window too wide":  func(c *requeue.Config) { c.Window = 257 },
		"a negative window":  func(c *requeue.Config) { c.Window = -1 },
		"a negative rate":    func(c *requeue.Config) { c.Rate = -1 },
		"a limit of 9":       func(c *requeue.Config) { c.DeliveryLimit = 9 },
		"a negative backoff": func(c *requeue.Config) { c.Backoff = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := good
			spoil(&cfg)
			if _, err := requeue.Run(t.Context(), nil, cfg, decider{}, nil); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}

// takingEnds looks at how a source is opened.
// inUseSource finds out after some messages that another consumer has its queue.
func TestWhatAnEarlierRunMayHaveMovedIsTakenAboveTheLimitAndCountedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(5)
		dead := tr.m.queues["dead"]
		for _, msg := range dead.ready[:2] { // the crash took their acks along
			msg.again = true
			tr.cfg.Doubtful = append(tr.cfg.Doubtful, dedup.NewDeadLetter(tr.cfg.Queue, msg.counted()).Ref)
		}
		// One that comes again, and was in doubt nowhere, is a message like any other; so is one in doubt that never left.
		dead.ready[2].again = true
		tr.cfg.Doubtful = append(tr.cfg.Doubtful, dedup.NewDeadLetter(tr.cfg.Queue, dead.ready[3].counted()).Ref)
		tr.cfg.Limit = 3
		result := tr.mustStop(t, requeue.StopLimit)
		if result.Moved != 3 || result.Repeated != 2 || tr.depth("dead") != 0 {
			t.Errorf("moved %d, %d of them again, %d left; want 3, 2 and 0", result.Moved, result.Repeated, tr.depth("dead"))
		}
	})
}

func TestNothingToMoveOpensNothing(t *testing.T) {
	cfg := newTrial(0).cfg
	result, err := requeue.Run(t.Context(), nil, cfg, decider{}, nil)
	if err != nil || result.Stop != requeue.StopLimit {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestTheCountsOfTheLastReportAreThoseOfTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(700)
		tr.cfg.Window = 64
		result := tr.mustStop(t, requeue.StopLimit)
		last := tr.settled[len(tr.settled)-1]
		if len(tr.settled) != 700 || last.Counts != result.Counts {
			t.Errorf("%d reports, the last with %+v, and the result is %+v", len(tr.settled), last.Counts, result)
		}
		refs := map[string]bool{}
		for _, s := range tr.settled {
			refs[s.Ref] = true
		}
		if len(refs) != 700 {
			t.Errorf("%d references: %v", len(refs), slices.Sorted(maps.Keys(refs))[:1])
		}
	})
}
