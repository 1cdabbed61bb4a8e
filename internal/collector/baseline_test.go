package collector

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/records"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
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

func (f *fakeBaselines) LowerBaseline(_ context.Context, pipeline string, to dedup.Baseline) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if line := f.lines[pipeline]; line.At.Equal(to.At) && (line.Count > to.Count || line.Split && !to.Split) {
		line.Count, line.Own, line.Split = min(line.Count, to.Count), min(line.Own, to.Own), line.Split && to.Split
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
		by := " beside 4 acknowledged by ann at " + text.Clock(made, made)
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
		check("so that a later rise counts", "2 dead letters wait beside 1 acknowledged by ann at "+text.Clock(made, made), 1)
		b.broker.set(func(f *fakeSource) { f.err = errors.New("refused") })
		check("nothing is told, nor lowered, while the broker is away", "", 1)
		b.broker.set(func(f *fakeSource) { f.err = nil })
		keeper.change(func() { delete(keeper.lines, "orders") })
		check("forgotten", "3 dead letters wait", -1)
	})
}

// TestABaselineThatFellIsKeptInItsRound, so that a restart before the next one does not raise it again.
func TestABaselineThatFellIsKeptInItsRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &fakeBaselines{lines: map[string]dedup.Baseline{"orders": {Count: 9, By: "ann"}}}
		b := newBench(t, testInterval)
		b.acknowledged = records.NewAcknowledged(disk, &b.beside, b.log)
		for _, s := range b.sources {
			s.Attempt(t.Context())
		}
		b.brokers[0].read.ReadTopology(t.Context())
		pass(time.Second)
		b.round(t.Context(), time.Now())
		b.beside.Wait()
		disk.change(func() {
			if kept := disk.lines["orders"].Count; kept != 4 {
				t.Errorf("%d are kept after the round in which the depth fell to 4", kept)
			}
		})
	})
}

// TestABaselineThatFellLastIsKeptWhenTheProgramEnds: what the disk refused in the last round is tried once more.
func TestABaselineThatFellLastIsKeptWhenTheProgramEnds(t *testing.T) {
	disk := &refusingDisk{fakeBaselines: fakeBaselines{lines: map[string]dedup.Baseline{"orders": {Count: 9, By: "ann"}}}, refuses: true}
	duringFrom(t, func(b *testBench) { b.acknowledged = records.NewAcknowledged(disk, &b.beside, b.log) }, func(t *testing.T, b *testBench) {
		pass(testInterval)
		disk.change(func() {
			if kept := disk.lines["orders"].Count; kept != 9 {
				t.Errorf("the disk kept %d although it refused", kept)
			}
			disk.refuses = false
		})
	})
	if kept := disk.lines["orders"].Count; kept != 4 {
		t.Errorf("%d are kept after the end, want the depth that it fell to", kept)
	}
}

// A refusingDisk writes nothing while it refuses.
type refusingDisk struct {
	fakeBaselines
	refuses bool
}

func (d *refusingDisk) LowerBaseline(ctx context.Context, pipeline string, to dedup.Baseline) error {
	d.mu.Lock()
	refuses := d.refuses
	d.mu.Unlock()
	if refuses {
		return errors.New("disk full")
	}
	return d.fakeBaselines.LowerBaseline(ctx, pipeline, to)
}

// TestWhatIsAcknowledgedStaysWhileNobodyKnowsWhichQueuesAreShared: the topology cannot be read after a restart, and all letters of a listed
// queue may be those of a queue of no pipeline.
func TestWhatIsAcknowledgedStaysWhileNobodyKnowsWhichQueuesAreShared(t *testing.T) {
	for name, own := range map[string]int64{"all acknowledged letters are shared": 0, "all acknowledged letters are its own": 4} {
		t.Run(name, func(t *testing.T) {
			acknowledgedBeforeARestart(t, dedup.Baseline{Count: 4, Own: own, Split: true, Acknowledged: 4, By: "ann"})
		})
	}
}

func acknowledgedBeforeARestart(t *testing.T, line dedup.Baseline) {
	duringFrom(t, func(b *testBench) {
		deadShared("legacy")(b)
		p := b.pipelines[0]
		p.DiscoverDeadLetters = false
		b.list(p, "orders.dlq")
		p.dead.Targets = topology.Targets(p.Pipeline, topology.Discovery{})
		b.broker.set(func(f *fakeSource) { f.topologyErr = errors.New("refused") })
		line.At = time.Now().Add(-time.Hour)
		b.keeper.change(func() { b.keeper.lines["orders"] = line })
	}, func(t *testing.T, b *testBench) {
		check := func(what string, count, own int64, fresh float64) {
			t.Helper()
			pass(2 * testInterval)
			p := b.pipeline(t, "orders")
			kept := dedup.Baseline{}
			b.keeper.change(func() { kept = b.keeper.lines["orders"] })
			if !p.DeadLetters.Known() || kept.Count != count || kept.Own != own || !kept.Split || p.FreshDeadLetters() != fresh || found(p, "dead_letters_wait") != (fresh > 0) {
				t.Errorf("%s: of %+v %v are new (told: %t), kept %+v; want %v, and %d kept with %d of its own", what, p.DeadLetters, p.FreshDeadLetters(),
					found(p, "dead_letters_wait"), kept, fresh, count, own)
			}
		}
		check("the topology cannot be read", 4, line.Own, 0)
		holdDead(b, 6)
		check("two more", 4, line.Own, 2)
		holdDead(b, 3)
		own := min(line.Own, 3)
		check("only three are left", 3, own, 0)
		if p := b.pipeline(t, "orders"); !p.SharingUnknown {
			t.Error("the status says that it is known who shares the queue")
		}
		if line.Own > 0 {
			b.broker.set(func(f *fakeSource) { f.topologyErr, f.sample.Queues = nil, f.sample.Queues[:3] }) // without legacy
		} else {
			b.broker.set(func(f *fakeSource) { f.topologyErr = nil })
		}
		pass(source.TopologyRetry)
		check("the topology was read", 3, own, 0)
		if p := b.pipeline(t, "orders"); p.SharingUnknown || p.DeadLetters.IsInterval() != (line.Own == 0) {
			t.Errorf("dead letters %+v, sharing unknown: %t", p.DeadLetters, p.SharingUnknown)
		}
	})
}

// TestAQueueThatBecomesSharedOrCeasesToBeMakesNoAcknowledgedLetterNew: what was acknowledged is still there, whoever may have a part in it by now.
func TestAQueueThatBecomesSharedOrCeasesToBeMakesNoAcknowledgedLetterNew(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		made := time.Now()
		b.keeper.change(func() {
			b.keeper.lines["orders"] = dedup.Baseline{Count: 4, Own: 4, Split: true, Acknowledged: 4, By: "ann", At: made}
		})
		pass(2 * testInterval)
		alone := func(f *fakeSource) []dedup.Queue { return append([]dedup.Queue(nil), f.sample.Queues[:3]...) }
		for range 2 {
			b.broker.set(func(f *fakeSource) {
				f.sample.Queues = append(alone(f), newQueue("trial", func(q *dedup.Queue) {
					q.Arguments = map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dlq"}
				}))
			})
			pass(2 * testInterval)
			if p := b.pipeline(t, "orders"); p.DeadLetters.Low != 0 || p.Baseline.Count != 4 {
				t.Errorf("shared with a queue that came for a while: %v own letters, baseline %+v", p.DeadLetters.Low, p.Baseline)
			}
			b.broker.set(func(f *fakeSource) { f.sample.Queues = alone(f) })
			pass(2 * testInterval)
			if p := b.pipeline(t, "orders"); p.DeadLetters.Low != 4 || p.Baseline.Count != 4 || found(p, "dead_letters_wait") {
				t.Errorf("alone again: %v own letters, baseline %+v, told of them: %t", p.DeadLetters.Low, p.Baseline, found(p, "dead_letters_wait"))
			}
		}
		holdDead(b, 6)
		pass(2 * testInterval)
		if p := b.pipeline(t, "orders"); p.FreshDeadLetters() != 2 {
			t.Errorf("of two more %v are new", p.FreshDeadLetters())
		}
	})
}
