package collector

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A fakeBaselines keeps baselines in memory.
type fakeBaselines struct {
	mu    sync.Mutex
	lines map[string]dedup.Baseline
	err   error
}

func (f *fakeBaselines) Baselines(context.Context) (map[string]dedup.Baseline, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]dedup.Baseline{}
	for name, line := range f.lines {
		all[name] = line
	}
	return all, f.err
}

func (f *fakeBaselines) LowerBaseline(_ context.Context, pipeline string, made time.Time, count int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if line := f.lines[pipeline]; line.At.Equal(made) && line.Count > count {
		line.Count = count
		f.lines[pipeline] = line
	}
	return f.err
}

func (f *fakeBaselines) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// holdDead puts messages into the dead-letter queue of orders.
func holdDead(b *testBench, n int64) {
	b.broker.set(func(f *fakeSource) {
		queues := append([]dedup.Queue(nil), f.sample.Queues...)
		queues[1].Messages = ptr(n)
		f.sample.Queues = queues
	})
}

func TestOnlyDeadLettersBeyondTheAcknowledgedOnesAreTold(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		keeper := b.keeper
		waits := func() (string, int64) {
			t.Helper()
			p := b.pipeline(t, "orders")
			count := int64(-1)
			if p.Baseline != nil {
				count = p.Baseline.Count
			}
			for _, f := range p.Findings {
				if f.Kind == "dead_letters_wait" {
					return f.Text, count
				}
			}
			return "", count
		}
		check := func(what, text string, count int64) {
			t.Helper()
			pass(2 * testInterval)
			if got, line := waits(); got != text || line != count {
				t.Errorf("%s: %q with %d acknowledged; want %q with %d", what, got, line, text, count)
			}
		}
		check("four in the queue", "4 dead letters wait", -1)
		made := time.Now()
		keeper.change(func() { keeper.lines["orders"] = dedup.Baseline{Count: 4, Acknowledged: 4, By: "ann", At: made} })
		check("all acknowledged", "", 4)
		by := " beside 4 acknowledged by ann at " + clock(made, made)
		holdDead(b, 6)
		check("two more", "2 dead letters wait"+by, 4)
		keeper.change(func() { keeper.err = errors.New("disk full") })
		check("what cannot be read stays", "2 dead letters wait"+by, 4)
		keeper.change(func() { keeper.err = nil })
		holdDead(b, 1)
		check("the baseline falls with the depth", "", 1)
		keeper.change(func() {
			if kept := keeper.lines["orders"]; kept.Count != 1 || kept.Acknowledged != 4 {
				t.Errorf("kept %+v, want 1 of 4", kept)
			}
		})
		holdDead(b, 3)
		check("so that a later rise counts", "2 dead letters wait beside 1 acknowledged by ann at "+clock(made, made), 1)
		b.broker.set(func(f *fakeSource) { f.err = errors.New("refused") })
		check("nothing is told, nor lowered, while the broker is away", "", 1)
		b.broker.set(func(f *fakeSource) { f.err = nil })
		keeper.change(func() { delete(keeper.lines, "orders") })
		check("forgotten", "3 dead letters wait", -1)
	})
}

func TestAReadingFromBeforeTheBaselineDoesNotLowerIt(t *testing.T) {
	at := findingNow
	a := acknowledged{keeper: &fakeBaselines{}, lines: map[string]dedup.Baseline{"orders": {Count: 9, At: at}}}
	p := &pipeline{Pipeline: dedup.Pipeline{Name: "orders"}}
	depth := func(n float64, at time.Time) dedup.Figure { return dedup.Exact(dedup.Measured, dedup.Count, n, at, "") }
	for _, tt := range []struct {
		depth dedup.Figure
		want  int64
	}{{depth(3, at.Add(-time.Second)), 9}, {dedup.Unknown(dedup.Count, "down"), 9}, {depth(12, at.Add(time.Second)), 9}, {depth(3, at.Add(time.Second)), 3}} {
		if got := a.of(p, tt.depth); got == nil || got.Count != tt.want {
			t.Errorf("with %+v the baseline is %+v, want %d", tt.depth, got, tt.want)
		}
	}
}
