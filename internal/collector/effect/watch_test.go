package effect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// fakeEffects is a check and a record whose answers a test sets.
type fakeEffects struct {
	mu      sync.Mutex
	answer  func(run int) (dedup.EffectReading, error)
	runs    []time.Time
	running int
	most    int
	takes   time.Duration
	record  dedup.EffectRecord
	broken  error
}

func (f *fakeEffects) Pipeline() string       { return "orders" }
func (f *fakeEffects) Query() string          { return "q" }
func (f *fakeEffects) Every() time.Duration   { return 15 * time.Minute }
func (f *fakeEffects) Timeout() time.Duration { return 10 * time.Second }

func (f *fakeEffects) Check(ctx context.Context) (dedup.EffectReading, error) {
	f.mu.Lock()
	f.running++
	f.most = max(f.most, f.running)
	at, n, takes := time.Now(), len(f.runs), f.takes
	f.runs = append(f.runs, at)
	f.mu.Unlock()
	ended := source.WaitUntil(ctx, at.Add(takes))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if !ended {
		return dedup.EffectReading{}, ctx.Err()
	}
	r, err := f.answer(n)
	r.At = at
	return r, err
}

func (f *fakeEffects) EffectRecord(context.Context, string) (dedup.EffectRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.record, f.broken
}

func (f *fakeEffects) KeepEffectRecord(_ context.Context, _ string, r dedup.EffectRecord) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record = r
	return nil
}

// newWatch is one that keeps what it remembers with the check.
func newWatch(f *fakeEffects) *Watch {
	return NewWatch(f, f, slog.New(slog.DiscardHandler), func() {})
}

// gaps are the waits between the runs.
func (f *fakeEffects) gaps() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []time.Duration
	for i := 1; i < len(f.runs); i++ {
		out = append(out, f.runs[i].Sub(f.runs[i-1]))
	}
	return out
}

func TestAnEffectCheckRunsOnItsOwnTimer(t *testing.T) {
	slow := fmt.Errorf("too slow: %w", context.DeadlineExceeded)
	down := &dedup.Error{Kind: dedup.Unavailable, Public: "MySQL at db refused the connection: check that it runs"}
	for name, tt := range map[string]struct {
		err   error
		takes time.Duration
		want  []time.Duration
	}{
		"each turn":                                          {nil, 0, []time.Duration{15 * time.Minute, 15 * time.Minute, 15 * time.Minute, 15 * time.Minute}},
		"one that takes long never overlaps":                 {nil, time.Minute, []time.Duration{16 * time.Minute, 16 * time.Minute}},
		"one that is too slow is stretched":                  {slow, 0, []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 2 * time.Hour}},
		"a server that is down is asked soon, and then less": {down, 0, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeEffects{takes: tt.takes, answer: func(int) (dedup.EffectReading, error) { return dedup.EffectReading{}, tt.err }}
				w := newWatch(f)
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { w.Run(ctx) })
				time.Sleep(6 * time.Hour)
				cancel()
				running.Wait()
				got := f.gaps()
				if tt.want != nil && (len(got) < len(tt.want) || !slices.Equal(got[:len(tt.want)], tt.want)) || f.most != 1 || len(got) < 3 {
					t.Errorf("waits of %v, want %v; %d at once", got, tt.want, f.most)
				}
				s := w.status(time.Now())
				if (s.Err != "") != (tt.err != nil) || s.LastTry.IsZero() || tt.err == nil && (s.At.IsZero() || s.Since.IsZero()) {
					t.Errorf("%+v", s)
				}
				found := finding.EffectCheckFails(s, time.Now())
				if (len(found) == 1) != (tt.err != nil) {
					t.Errorf("findings: %+v", found)
				}
			})
		})
	}
}

func TestARestartTakesNoNewDoubleEffectForAnOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEffects{answer: func(run int) (dedup.EffectReading, error) {
			return readEffects(time.Time{}, []string{"a", "a", "a b", "a b"}[min(run, 3)]), nil
		}}
		live := func(d time.Duration) *dedup.EffectCheck {
			w := newWatch(f)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { w.Run(ctx) })
			time.Sleep(d)
			cancel()
			running.Wait()
			return w.status(time.Now())
		}
		live(20 * time.Minute)
		runs := len(f.runs)
		for range 5 {
			if s := live(time.Minute); s.At.IsZero() || s.Total != 1 {
				t.Errorf("after a restart: %+v", s)
			}
		}
		if len(f.runs) != runs {
			t.Errorf("%d runs for restarts within a turn", len(f.runs)-runs)
		}
		if s := live(16 * time.Minute); s.Fresh != 1 || s.Baseline != 1 || s.Total != 2 {
			t.Errorf("the new key after the restart: %+v", s)
		}
		f.broken = errors.New("disk full")
		if s := live(20 * time.Minute); !strings.Contains(s.Err, "disk full") || !s.At.IsZero() {
			t.Errorf("without its record: %+v", s)
		}
	})
}

func TestARestartRunsNoSlowEffectCheckBeforeItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEffects{answer: func(run int) (dedup.EffectReading, error) {
			if run < 2 {
				return dedup.EffectReading{}, fmt.Errorf("too slow: %w", context.DeadlineExceeded)
			}
			return readEffects(time.Time{}, "a"), nil
		}}
		live := func(d time.Duration) *dedup.EffectCheck {
			w := newWatch(f)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { w.Run(ctx) })
			time.Sleep(d)
			cancel()
			running.Wait()
			return w.status(time.Now())
		}
		for range 25 {
			if s := live(2 * time.Minute); s.Err == "" || s.LastTry.IsZero() {
				t.Errorf("what failed is forgotten: %+v", s)
			}
		}
		// The first run was too slow, the second half an hour later too; the third is due an hour after that.
		if got := f.gaps(); !slices.Equal(got, []time.Duration{30 * time.Minute}) {
			t.Errorf("waits of %v over restarts", got)
		}
		if s := live(time.Hour); s.Err != "" || s.Total != 1 {
			t.Errorf("once it is quick again: %+v", s)
		}
		if got := f.gaps(); len(got) < 2 || got[1] != time.Hour {
			t.Errorf("waits of %v", got)
		}
		if f.record.Slow != 0 {
			t.Errorf("still on record as slow: %+v", f.record)
		}
	})
}
