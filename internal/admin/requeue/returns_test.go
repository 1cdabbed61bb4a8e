package requeue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

func TestFailuresDestroyNothingWhereReturnsCount(t *testing.T) {
	notNow := deciderFunc(func(context.Context, []dedup.DeadLetter) ([]requeue.Decision, error) {
		return nil, errors.New("the store is away")
	})
	missing := deciderFunc(func(_ context.Context, l []dedup.DeadLetter) ([]requeue.Decision, error) {
		return slices.Repeat([]requeue.Decision{{Target: "missing"}}, len(l)), nil
	})
	// A run gives back what it keeps in hand, and what is on its way meanwhile: four at most of each.
	const givenBack = 8
	leave := deciderFunc(func(_ context.Context, l []dedup.DeadLetter) ([]requeue.Decision, error) {
		return slices.Repeat([]requeue.Decision{{Why: "left out"}}, len(l)), nil
	})
	for name, d := range map[string]requeue.Decider{"nobody decides": notNow, "the target is missing": missing, "all are left out": leave} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newTrial(100)
				dead := tr.m.queues["dead"]
				dead.limit, tr.cfg.DeliveryLimit, tr.cfg.Window, tr.decider = 10, 10, 0, d
				runs := 0
				for stop := requeue.Stop(""); stop != requeue.StopFragile; runs++ {
					result, _ := tr.run()
					if stop = result.Stop; runs > 20 || dead.returns > givenBack*(runs+1) {
						t.Fatalf("%d returns in %d runs, the last ended as %+v", dead.returns, runs+1, result)
					}
				}
				if len(dead.destroyed) > 0 || tr.depth("dead") != 100 {
					t.Errorf("%v were destroyed, %d are left", dead.destroyed, tr.depth("dead"))
				}
				tr.decider = decider{}
				if result := tr.mustStop(t, requeue.StopLimit); result.Moved != 100 || tr.depth("a") != 100 {
					t.Errorf("what is fragile did not go on by itself: %+v", result)
				}
			})
		})
	}
}

func TestAFragileMessageThatIsBackStopsTheRunWhateverElseEndedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(10)
		dead := tr.m.queues["dead"]
		dead.limit, tr.cfg.DeliveryLimit = 10, 10
		dead.ready[4].returns = 8
		ctx, cancel := context.WithCancel(t.Context())
		tr.ctx = ctx
		tr.decider = deciderFunc(func(ctx context.Context, l []dedup.DeadLetter) ([]requeue.Decision, error) {
			if slices.ContainsFunc(l, func(l dedup.DeadLetter) bool { return l.MessageID == "m4" }) {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return decider{}.Decide(ctx, l)
		})
		result := tr.mustStop(t, requeue.StopFragile)
		if result.Moved != 4 || !strings.Contains(result.Text, "it was told to stop") || tr.depth("dead") != 6 {
			t.Errorf("%+v, %d are left", result, tr.depth("dead"))
		}
	})
}

type deafSource struct {
	requeue.Source
	left   int
	closed chan struct{}
}

func (s *deafSource) Next(ctx context.Context) (message.Delivery, error) {
	if s.left--; s.left >= 0 {
		return s.Source.Next(ctx)
	}
	<-s.closed
	return message.Delivery{}, errClosed
}

func (s *deafSource) Close() error {
	close(s.closed)
	return s.Source.Close()
}

type endsFunc struct {
	requeue.Ends
	source func(requeue.Source) requeue.Source
}

func (e endsFunc) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.Ends.Source(ctx, queue, take)
	if err != nil {
		return nil, err
	}
	return e.source(source), nil
}

func TestARunEndsInTimeThoughItsSourceDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(10)
		tr.ends = endsFunc{tr.ends, func(s requeue.Source) requeue.Source {
			return &deafSource{Source: s, left: 3, closed: make(chan struct{})}
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		tr.ctx = ctx
		began := time.Now()
		result := tr.mustStop(t, requeue.StopCancelled)
		if took := time.Since(began); took > 80*time.Second || result.Moved != 3 || !strings.Contains(result.Text, "may be in the queue as well") {
			t.Errorf("after %s: %+v", took, result)
		}
	})
}

func TestIdenticalMessagesAreNotTakenForCopiesOfEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(400, fault{at: 700, kind: "cut source"})
		for _, msg := range tr.m.queues["dead"].ready {
			msg.id, msg.message = "m", seedMessage("m", "a")
		}
		result, _ := tr.run()
		if window := int64(tr.cfg.Window); result.Reconnects != 1 || result.Repeated > window || result.Moved < 400-window || tr.depth("dead") > 0 {
			t.Errorf("%d are left: %+v", tr.depth("dead"), result)
		}
	})
}

type acklessSource struct{ requeue.Source }

func (s acklessSource) Ack(uint64) error { return errors.Join(errClosed, s.Close()) }

func TestAMessageWhoseAckCannotBeSentIsSaidToBeAtItsTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(10)
		tr.cfg.MaxFruitless, tr.cfg.Window = 1, 1
		tr.ends = endsFunc{tr.ends, func(s requeue.Source) requeue.Source { return acklessSource{s} }}
		result := tr.mustStop(t, requeue.StopConnection)
		if result.Unknown != 1 || len(tr.settled) != 1 || !strings.Contains(tr.settled[0].Text, "it is at its target") || strings.Contains(result.Text, tr.settled[0].Ref) {
			t.Errorf("%+v, settled %+v", result, tr.settled)
		}
	})
}

func TestASlowRunHasNoMoreSentAheadThanItMovesInTenMinutes(t *testing.T) {
	for rate, want := range map[float64]int{0: 256, 100: 256, 0.1: 60, 0.01: 6, 0.0001: 2} {
		synctest.Test(t, func(t *testing.T) {
			tr := newTrial(1)
			tr.cfg.Window, tr.cfg.Rate = 0, rate
			tr.ends = takingEnds{tr.ends, func(take requeue.Taking) {
				if take.Held != want {
					t.Errorf("at %g/s the broker sends %d ahead, want %d", rate, take.Held, want)
				}
			}}
			tr.mustStop(t, requeue.StopLimit)
		})
	}
}

func TestNoMoreBigMessagesAreSentAheadThanFitIntoMemory(t *testing.T) {
	for bytes, want := range map[int64]int{0: 256, 1000: 256, 1 << 20: 64, 16 << 20: 4, 512 << 20: 1} {
		synctest.Test(t, func(t *testing.T) {
			tr := newTrial(1)
			tr.cfg.Window, tr.cfg.MeanBytes = 0, bytes
			tr.ends = takingEnds{tr.ends, func(take requeue.Taking) {
				if take.Held != want {
					t.Errorf("of messages of %d bytes the broker sends %d ahead, want %d", bytes, take.Held, want)
				}
			}}
			tr.mustStop(t, requeue.StopLimit)
		})
	}
}

type takingEnds struct {
	requeue.Ends
	look func(requeue.Taking)
}

func (e takingEnds) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	e.look(take)
	return e.Ends.Source(ctx, queue, take)
}

var errInUse = &dedup.Error{Kind: dedup.Conflict, Public: "another consumer has the queue"}

type inUseSource struct {
	requeue.Source
	left int
}

func (s *inUseSource) Next(ctx context.Context) (message.Delivery, error) {
	if s.left--; s.left >= 0 {
		return s.Source.Next(ctx)
	}
	return message.Delivery{}, errInUse
}

type refusingEnds struct{ requeue.Ends }

func (refusingEnds) Source(context.Context, dedup.QueueRef, requeue.Taking) (requeue.Source, error) {
	return nil, errInUse
}

func TestAQueueThatAnotherConsumerHasIsNotTriedAgain(t *testing.T) {
	for name, change := range map[string]func(*trial){
		"from the start": func(tr *trial) { tr.ends = refusingEnds{tr.ends} },
		"in mid-run": func(tr *trial) {
			tr.ends = endsFunc{tr.ends, func(s requeue.Source) requeue.Source { return &inUseSource{Source: s, left: 3} }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newTrial(10)
				change(tr)
				result, err := tr.run()
				if result.Stop != requeue.StopConnection || !errors.Is(err, errInUse) || len(tr.waiting) > 0 || strings.Contains(result.Text, "reached") {
					t.Errorf("%+v, %v, waited for %q", result, err, tr.waiting)
				}
				if tr.depth("dead") != 10-int(result.Moved) {
					t.Errorf("%d are left after %d moved", tr.depth("dead"), result.Moved)
				}
			})
		})
	}
}
