package requeue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

func TestAnAlarmThatPassesIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(100, fault{at: 80, kind: "alarm", lasts: 4 * time.Minute})
		tr.cfg.Rate = 50
		start := time.Now()
		result := tr.mustStop(t, requeue.StopLimit)
		if result.Moved != 100 || result.Reconnects != 0 || tr.depth("a") != 100 {
			t.Errorf("%+v, %d at the target", result, tr.depth("a"))
		}
		if took := time.Since(start); took < 4*time.Minute || took > 4*time.Minute+5*time.Second {
			t.Errorf("took %s", took)
		}
		if len(tr.waiting) != 2 || !strings.Contains(tr.waiting[0], lowOnMemory) || tr.waiting[1] != "" {
			t.Errorf("it said %q while it waited", tr.waiting)
		}
	})
}

// A turncoat sends messages to "a" until an hour strikes, then to "b".
type turncoat struct {
	until     time.Time
	undecided map[string]bool
}

func (t turncoat) Decide(_ context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error) {
	target := "a"
	if time.Now().After(t.until) {
		target = "b"
	}
	return slices.Repeat([]requeue.Decision{{Target: target}}, len(letters)), nil
}

func (t turncoat) Undecide(letters []dedup.DeadLetter, decisions []requeue.Decision) {
	for i, l := range letters {
		if decisions[i].Target == "a" {
			t.undecided[l.MessageID] = true
		}
	}
}

func TestWhatAnAlarmHeldUpIsDecidedOnAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(200, fault{at: 150, kind: "alarm", lasts: 4 * time.Minute})
		tr.m.addQueue(&modelQueue{name: "b"})
		tr.cfg.Rate, tr.cfg.Window = 50, 64
		decides := turncoat{until: time.Now().Add(time.Minute), undecided: map[string]bool{}}
		tr.decider = decides
		if result := tr.mustStop(t, requeue.StopLimit); result.Moved != 200 {
			t.Errorf("%+v", result)
		}
		if len(decides.undecided) == 0 {
			t.Fatal("no decision was taken back")
		}
		for _, id := range tr.m.queues["a"].ids() {
			if decides.undecided[id] {
				t.Errorf("%s went where it was to go before the alarm", id)
			}
		}
	})
}

func TestAnAlarmThatLastsStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(100, fault{at: 80, kind: "alarm", lasts: time.Hour})
		start := time.Now()
		result := tr.mustStop(t, requeue.StopBlocked)
		if took := time.Since(start); took < 5*time.Minute || took > 5*time.Minute+20*time.Second {
			t.Errorf("took %s", took)
		}
		if tr.depth("dead") != 100-int(result.Moved) || !strings.Contains(result.Text, lowOnMemory) {
			t.Errorf("%+v, %d are left", result, tr.depth("dead"))
		}
		time.Sleep(time.Hour)
	})
}

func TestNoMessageIsHeldUntilTheBrokerTakesItAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(3)
		tr.decider = deciderFunc(func(ctx context.Context, _ []dedup.DeadLetter) ([]requeue.Decision, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		start := time.Now()
		tr.mustStop(t, requeue.StopAge)
		if took := time.Since(start); took < 20*time.Minute || took > 21*time.Minute {
			t.Errorf("took %s", took)
		}
		if got := tr.m.queues["dead"].ids(); !slices.Equal(got, []string{"m0", "m1", "m2"}) {
			t.Errorf("the queue holds %v", got)
		}
	})
}

func TestARunKeepsItsRate(t *testing.T) {
	for _, rate := range []float64{0.5, 10, 500} {
		t.Run(fmt.Sprintf("%g per second", rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := int(max(10, rate))
				tr := newTrial(n)
				tr.cfg.Rate = rate
				tr.cfg.Window = 256
				start := time.Now()
				tr.mustStop(t, requeue.StopLimit)
				took := time.Since(start).Seconds()
				if least := (float64(n) - 1) / rate; took < least-0.1 || took > least*1.05+1 {
					t.Errorf("%d messages took %g s, want %g", n, took, least)
				}
			})
		})
	}
}

func TestALostBrokerIsTriedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(50, fault{at: 60, kind: "restart", lasts: 90 * time.Second})
		told := 0
		tr.cfg.Reconnected = func() { told++ }
		start := time.Now()
		result := tr.mustStop(t, requeue.StopLimit)
		if result.Moved != 50 || result.Reconnects != 1 || told != 1 || tr.depth("dead") != 0 {
			t.Errorf("%+v, %d are left", result, tr.depth("dead"))
		}
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("went on after %s", took)
		}
		if tries := len(tr.waiting); tries > 10 || tr.waiting[tries-1] != "" {
			t.Errorf("it said %q", tr.waiting)
		}
	})
}

// TestAllThatWasSettledIsReportedBeforeAConnectionIsReplaced: whoever decides forgets then what was under way.
func TestAllThatWasSettledIsReportedBeforeAConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(50, fault{at: 60, kind: "restart", lasts: time.Second})
		takeDown := tr.report
		tr.report = func(ctx context.Context, settled []requeue.Settled) error {
			time.Sleep(3 * time.Second) // longer than the broker is away
			return takeDown(ctx, settled)
		}
		var replaced time.Time
		known := 0
		tr.cfg.Reconnected = func() { replaced, known = time.Now(), len(tr.settled) }
		if result := tr.mustStop(t, requeue.StopLimit); result.Reconnects != 1 || known == 0 || result.Uncertain {
			t.Fatalf("%+v, %d were known", result, known)
		}
		for _, s := range tr.settled[known:] {
			if s.At.Before(replaced) {
				t.Errorf("message %d was %s before the connection was replaced, and reported after it", s.Seq, s.Outcome)
			}
		}
	})
}

func TestABrokerThatStaysAwayStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(50, fault{at: 60, kind: "restart", lasts: time.Hour})
		start := time.Now()
		if result := tr.mustStop(t, requeue.StopConnection); !result.Uncertain {
			t.Errorf("acks may have been lost, and the result does not tell: %+v", result)
		}
		if took := time.Since(start); took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("gave up after %s", took)
		}
		time.Sleep(time.Hour)
	})
}

func TestAQueueThatIsNotThereStopsTheRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(1)
		tr.cfg.Queue.Name = "gone"
		start := time.Now()
		tr.mustStop(t, requeue.StopConnection)
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// poisonedEnds end the connection of whoever publishes one message.
type poisonedEnds struct {
	requeue.Ends
	id string
}

func (e poisonedEnds) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	sink, err := e.Ends.Sink(ctx, vhost, window)
	if err != nil {
		return nil, err
	}
	return wrappedSink{Sink: sink, publish: func(ctx context.Context, queue string, m message.Message) error {
		if m.MessageID == e.id {
			return errors.Join(errClosed, sink.Close())
		}
		return sink.Publish(ctx, queue, m)
	}}, nil
}

func TestAMessageThatEndsEveryConnectionIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(40)
		tr.ends = poisonedEnds{Ends: tr.ends, id: "m20"}
		result := tr.mustStop(t, requeue.StopConnection)
		if result.Moved != 20 || tr.m.queues["dead"].ids()[0] != "m20" {
			t.Errorf("%+v, %v are left", result, tr.m.queues["dead"].ids())
		}
		m20 := tr.m.queues["dead"].ready[0].message
		if ref := dedup.NewDeadLetter(tr.cfg.Queue, m20).Ref; !strings.Contains(result.Text, ref) {
			t.Errorf("it does not name the message: %s", result.Text)
		}
		if copies := tr.depth("a") - 20; copies > 2*tr.cfg.Window {
			t.Errorf("%d copies", copies)
		}
	})
}
