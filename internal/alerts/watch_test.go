package alerts

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts/rule"
)

// countedHeart counts beats, and fails or hangs when told to.
type countedHeart struct {
	beats atomic.Int64
	err   atomic.Pointer[error]
	hang  atomic.Bool
}

func (h *countedHeart) Beat(ctx context.Context) error {
	h.beats.Add(1)
	if h.hang.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := h.err.Load(); err != nil {
		return *err
	}
	return nil
}

// watchFor runs a watch while the test lasts.
func watchFor(t *testing.T, deps WatchDeps, test func(w *Watch)) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch(deps)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		test(w)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestTheHeartBeatsEachMinuteWhileRulesAreEvaluatedOnTimeAndNotOtherwise(t *testing.T) {
	heart := &countedHeart{}
	watchFor(t, WatchDeps{Interval: tickEvery, Heart: heart}, func(w *Watch) {
		time.Sleep(time.Hour)
		if n := heart.beats.Load(); n != 0 || !strings.Contains(w.Pulse().Err, "not evaluated") {
			t.Errorf("%d beats before the first evaluation, %+v", n, w.Pulse())
		}
		evaluate := func(minutes int) {
			for range minutes * 4 {
				w.Evaluated(time.Now())
				time.Sleep(tickEvery)
			}
		}
		evaluate(10)
		if n := heart.beats.Load(); n < 9 || n > 11 || w.Pulse().Err != "" || w.Pulse().Beaten.IsZero() {
			t.Errorf("%d beats in ten minutes, %+v; want one each minute", n, w.Pulse())
		}
		before := heart.beats.Load()
		time.Sleep(10 * time.Minute)
		if n := heart.beats.Load() - before; n > 1 {
			t.Errorf("%d beats in ten minutes without an evaluation", n)
		}
		evaluate(3)
		if w.Pulse().Err != "" || heart.beats.Load() <= before {
			t.Errorf("it does not beat again: %+v", w.Pulse())
		}
	})
}

func TestAHeartbeatThatIsNotTakenIsToldWithoutItsSecrets(t *testing.T) {
	heart := &countedHeart{}
	inner := errors.New("Get https://hc.example/ping/secret-token: refused")
	heart.err.Store(&inner)
	watchFor(t, WatchDeps{Interval: tickEvery, Heart: heart}, func(w *Watch) {
		run := func(minutes int) {
			for range minutes * 4 {
				w.Evaluated(time.Now())
				time.Sleep(tickEvery)
			}
		}
		run(3)
		if p := w.Pulse(); p.Err == "" || strings.Contains(p.Err, "secret-token") || !p.Beaten.IsZero() {
			t.Errorf("pulse %+v, want an error without the address", p)
		}
		var public error = &DeliveryError{Public: "the receiver answered 404: look at the address"}
		heart.err.Store(&public)
		run(3)
		if p := w.Pulse(); !strings.Contains(p.Err, "404") {
			t.Errorf("pulse %+v, want what may be told", p)
		}
		heart.err.Store(nil)
		heart.hang.Store(true)
		run(3)
		if p := w.Pulse(); !strings.Contains(p.Err, "no answer in time") {
			t.Errorf("pulse %+v of a receiver that hangs", p)
		}
	})
}

func TestTheWatchKnowsWhatTheRulesOfTheDashboardJudge(t *testing.T) {
	oldest := time.Now().Add(-time.Hour)
	var broken, hung atomic.Bool
	release := make(chan struct{})
	deps := WatchDeps{Interval: tickEvery,
		Backlog: func(context.Context) (rule.Backlog, error) {
			if broken.Load() {
				return rule.Backlog{}, errors.New("disk I/O error")
			}
			return rule.Backlog{Oldest: oldest, Waiting: 3, Failed: 1, Errors: []string{"slack: 404"}}, nil
		},
		FreeDisk: func() (float64, error) {
			if hung.Load() {
				<-release
			}
			if broken.Load() {
				return 0, errors.New("disk I/O error")
			}
			return 0.25, nil
		},
		AuditRefused:   func() string { return "the disk is full" },
		ReceiverFaults: func() []rule.ReceiverFault { return []rule.ReceiverFault{{Channel: "pair", Receiver: "am-2:9093"}} },
	}
	synctest.Test(t, func(t *testing.T) {
		release = make(chan struct{})
		w := NewWatch(deps)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		at := time.Now()
		w.Evaluated(at)
		s := w.Self(at)
		if !s.Outbox.Oldest.Equal(oldest) || s.Outbox.Waiting != 3 || s.Outbox.Failed != 1 || s.DiskFree == nil || *s.DiskFree != 0.25 ||
			s.AuditRefused == "" || len(s.ReceiverFaults) != 1 || !s.LastEvaluation.Equal(at) || s.Interval != tickEvery {
			t.Errorf("self %+v", s)
		}
		broken.Store(true)
		time.Sleep(2 * tickEvery)
		if s := w.Self(time.Now()); s.Outbox.Waiting != 3 || s.DiskFree != nil {
			t.Errorf("after an error: %+v; want what was known of the outbox, and nothing of the disk", s)
		}
		broken.Store(false)
		time.Sleep(2 * tickEvery)
		hung.Store(true)
		time.Sleep(2 * time.Minute)
		if s := w.Self(time.Now()); s.DiskFree != nil {
			t.Errorf("a disk that hangs: %v free; want that nothing is known", *s.DiskFree)
		}
		close(release)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestALaneWaitsNoLongerThanItsPatienceAndMakesOneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lane[int]
		release := make(chan struct{})
		began := time.Now()
		_, err := l.call(t.Context(), 8*time.Second, func(context.Context) (int, error) { <-release; return 1, nil })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if _, err := l.call(t.Context(), time.Second, func(context.Context) (int, error) { return 2, nil }); !errors.Is(err, errUnderWay) {
			t.Errorf("a second call beside the first: %v", err)
		}
		close(release)
		synctest.Wait()
		if v, err := l.call(t.Context(), time.Second, func(context.Context) (int, error) { return 3, nil }); v != 3 || err != nil {
			t.Errorf("got %d, %v; want the answer of the new call", v, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.call(ctx, time.Hour, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
		synctest.Wait()
	})
}
