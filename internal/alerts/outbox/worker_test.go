package outbox

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts"
)

func TestWhatMayHaveArrivedIsTriedAgainSeldomAndMarked(t *testing.T) {
	for name, answer := range map[string]func(ctx context.Context) error{
		"a sender that says so":     func(context.Context) error { return &alerts.DeliveryError{Public: "it did not answer", Doubtful: true} },
		"one that is cut off by us": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"one that panics":           func(context.Context) error { panic("after it was sent") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{}
				ops := &post{answer: func(ctx context.Context, _ alerts.Notification) error { return answer(ctx) }}
				s.put("m", "ops")
				openOffice(t, s, map[string]Sender{"ops": ops}, nil)
				letPass(22*time.Minute + 5*sendDeadline)
				got := ops.sendings()
				if len(got) != 4 {
					t.Fatalf("sent %d times", len(got))
				}
				for i, want := range []time.Duration{firstDoubt, laterDoubt, laterDoubt} {
					waited := got[i+1].at.Sub(got[i].at)
					if !got[i+1].n.Repeated || waited < want || waited > want+sendDeadline+lookAgain {
						t.Errorf("copy %d after %s, repeated %t", i+1, waited, got[i+1].n.Repeated)
					}
				}
				if got[0].n.Repeated {
					t.Error("the first one is marked")
				}
			})
		})
	}
}

func TestWhatWasNotTakenForSureIsNotMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(context.Context, alerts.Notification) error { return &alerts.DeliveryError{Public: "503"} }}
		s.put("m", "ops")
		openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(time.Hour)
		for _, one := range ops.sendings() {
			if one.n.Repeated {
				t.Fatal("marked as repeated")
			}
		}
	})
}

func TestAChannelThatFailsIsLoggedOnceAndOnceWhenItWorksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &shelf{}
		var up atomic.Bool
		ops := &post{answer: func(context.Context, alerts.Notification) error {
			if up.Load() {
				return nil
			}
			return &alerts.DeliveryError{Public: "channel ops: it answers 503"}
		}}
		for _, id := range []string{"a", "b", "c"} {
			s.put(id, "ops")
		}
		o := openOffice(t, s, map[string]Sender{"ops": ops}, slog.New(slog.NewTextHandler(&log, nil)))
		letPass(time.Hour)
		up.Store(true)
		letPass(time.Hour)
		o.stop()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "it answers 503") ||
			!strings.Contains(lines[1], "takes notifications again") || !strings.Contains(lines[1], "channel=ops") {
			t.Errorf("%q", lines)
		}
	})
}

func TestStoppingTakesLessThanItsBoundWhateverHangs(t *testing.T) {
	const bound = 5 * time.Second // of the step that stops what runs in the background
	for name, stuck := range map[string]bool{"the channel": false, "the channel and then the store": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{stuck: stuck}
				ops := &post{answer: func(ctx context.Context, _ alerts.Notification) error {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(11*time.Second + 900*time.Millisecond): // just within the grace
						return nil
					}
				}}
				s.put("m", "ops")
				o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
				letPass(10 * time.Second)
				start := time.Now()
				o.stop()
				if took := time.Since(start); took >= bound {
					t.Errorf("stopped after %s", took)
				}
			})
		})
	}
}

func TestWhatIsGivenUpIsToldAsRepeatedWhereItMayHaveArrived(t *testing.T) {
	for name, last := range map[string]*alerts.DeliveryError{
		"never taken":       {Public: "503"},
		"perhaps taken":     {Public: "no answer", Doubtful: true},
		"refused":           {Public: "403", Permanent: true},
		"doubtful, refused": {Public: "403", Permanent: true, Doubtful: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{}
				s.put("m", "ops")
				ops := &post{answer: func(context.Context, alerts.Notification) error { return last }}
				o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
				letPass(25 * time.Hour)
				if len(o.repeated) != 1 || o.repeated[0] != last.Doubtful {
					t.Errorf("given up: %q, repeated %t", o.failed, o.repeated)
				}
			})
		})
	}
}
