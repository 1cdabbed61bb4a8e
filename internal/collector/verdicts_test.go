package collector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// stuckPass is a pass with n processing markers of an age, seen now.
func stuckPass(n int, age time.Duration) *dedup.Pass {
	now := time.Now()
	p := &dedup.Pass{Started: now, Ended: now, States: map[dedup.State]int64{dedup.Processing: int64(n)}}
	for i := range n {
		p.OldestProcessing = append(p.OldestProcessing, dedup.Marker{ID: fmt.Sprintf("m%d\x1b", i), State: dedup.Processing, Since: now.Add(-age), Expires: now.Add(time.Hour)})
	}
	p.GaveUp.Freeze()
	p.Completions.Freeze()
	return p
}

func stuckFinding(p *dedup.PipelineStatus) *dedup.Finding {
	for i := range p.Findings {
		if p.Findings[i].Kind == "stuck_markers" {
			return &p.Findings[i]
		}
	}
	return nil
}

func TestStuckMarkersAreCountedAndFound(t *testing.T) {
	withDead := func(n int64) func(*testBench) {
		return func(b *testBench) {
			b.broker.set(func(f *fakeSource) { f.sample.Queues[1].Messages = ptr(n) })
		}
	}
	busy := func(b *testBench) { b.broker.set(func(f *fakeSource) { f.sample.Queues[0].Unacked = ptr(2) }) }
	auto := func(b *testBench) {
		b.broker.set(func(f *fakeSource) {
			f.topology.Consumers = []dedup.Consumer{{Queue: ordersRef(), Channel: "c", Connection: "x"}}
		})
	}
	tests := map[string]struct {
		n       int
		age     time.Duration
		set     func(*testBench)
		verdict dedup.Verdict
		stuck   float64
		tier    dedup.Tier // unknown: no finding
		text    string
	}{
		"none":                               {0, 0, withDead(0), dedup.StillWorking, 0, dedup.TierUnknown, ""},
		"young ones":                         {3, 5 * time.Second, busy, dedup.StillWorking, 0, dedup.TierUnknown, ""},
		"an orphan":                          {1, time.Hour, withDead(0), dedup.Orphan, 1, dedup.Warning, "1 marker is stuck: 1 orphan"},
		"a dead one with a dead letter":      {1, time.Hour, withDead(4), dedup.ProbablyDead, 1, dedup.Warning, "1 marker is stuck: 1 probably dead"},
		"nine":                               {9, time.Hour, withDead(4), dedup.ProbablyDead, 9, dedup.Warning, "9 markers are stuck: 9 probably dead"},
		"ten":                                {10, time.Hour, withDead(4), dedup.ProbablyDead, 10, dedup.Severe, "10 markers are stuck: 10 probably dead"},
		"old ones while something is out":    {2, 100 * time.Second, busy, dedup.CannotTell, 0, dedup.Warning, "2 markers have been processing for longer than 1 m, the longest that processing takes, and it cannot be told whether anybody works on them"},
		"old ones of consumers that ack now": {2, time.Hour, auto, dedup.CannotTell, 0, dedup.Warning, "2 markers have been processing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			during(t, func(t *testing.T, b *testBench) {
				b.pipelines[0].MaxProcessing = time.Minute
				tt.set(b)
				pass(source.TopologyInterval + 4*testInterval) // the newest readings and the topology are of now
				b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(tt.n, tt.age) })
				pass(2 * testInterval)
				p := b.pipeline(t, "orders")
				if f := p.Verdicts[tt.verdict]; !f.Known() || f.Value != float64(tt.n) || f.AtLeast {
					t.Errorf("%s: %+v, want %d of %+v", tt.verdict, f, tt.n, p.Verdicts)
				}
				most := tt.stuck
				if tt.verdict == dedup.CannotTell {
					most = float64(tt.n) // each of those may be stuck
				}
				if f := p.Stuck; !f.Known() || f.Value != tt.stuck || f.Low != tt.stuck || f.High != most {
					t.Errorf("stuck %+v, want %v to %v", p.Stuck, tt.stuck, most)
				}
				got := stuckFinding(p)
				if tt.tier == dedup.TierUnknown {
					if got != nil {
						t.Errorf("finding %+v, want none", got)
					}
					return
				}
				if got == nil || got.Tier != tt.tier || !strings.HasPrefix(got.Text, tt.text) || !strings.Contains(got.Evidence, "m0\uFFFD: processing for ") {
					t.Errorf("finding %+v, want %s %q", got, tt.tier, tt.text)
				}
				if v, ok := b.history.current(series.ProcessingMarkers, "pipeline", "orders", "verdict", verdictLabel(tt.verdict)); !ok || v != float64(tt.n) {
					t.Errorf("the history holds %v (%v) markers %s, want %d", v, ok, tt.verdict, tt.n)
				}
			})
		})
	}
}

func TestMarkersWhoseMessagesLoopUnderLivingConsumersAreCountedAsStuck(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.pipelines[0].MaxProcessing = time.Minute
		b.broker.set(func(f *fakeSource) { f.sample.Queues[0].Unacked = ptr(4) })
		pass(source.TopologyInterval + 4*testInterval)
		p := stuckPass(4, 100*time.Second)
		met := &dedup.Met{From: time.Now(), To: time.Now().Add(6 * time.Second), Expires: map[string]time.Time{}}
		for i := range p.OldestProcessing {
			m := &p.OldestProcessing[i]
			if m.Key = "msg:" + m.ID; i < 3 {
				met.Expires[m.Key] = m.Expires
			}
		}
		b.store.set(func(f *fakeSource) { f.stats.Pass, f.stats.Met = p, met })
		for i := range int64(3) {
			b.broker.set(func(f *fakeSource) {
				q := &f.sample.Queues[0]
				q.Counters = dedup.QueueCounters{Redeliver: ptr(100 * i), Deliver: ptr(100 * i), Ack: ptr(0), Publish: ptr(0)}
			})
			pass(2 * testInterval)
		}
		status := b.pipeline(t, "orders")
		if f := status.Stuck; f.Low != 3 || f.High != 4 || status.Verdicts[dedup.Looping].Value != 3 || status.Verdicts[dedup.CannotTell].Value != 1 {
			t.Errorf("stuck %+v of %+v, want 3 to 4", f, status.Verdicts)
		}
		if got := stuckFinding(status); got == nil || !strings.HasPrefix(got.Text, "3 markers are stuck: 3 looping; of 1 more, processing for longer than 1 m, it cannot be told") {
			t.Errorf("finding %+v", got)
		}

		last := p.OldestProcessing[3]
		all := &dedup.Met{From: met.From, To: met.To, Expires: maps.Clone(met.Expires)}
		all.Expires[last.Key] = last.Expires
		b.store.set(func(f *fakeSource) { f.stats.Met = all })
		pass(2 * testInterval)
		b.broker.set(func(f *fakeSource) { f.topologies = 0 })
		for i := range int64(4) {
			b.broker.set(func(f *fakeSource) { f.sample.Queues[0].Counters.Redeliver = ptr(300 + 100*i) })
			pass(2 * testInterval)
			if n := b.pipeline(t, "orders").Verdicts[dedup.Looping].Value; n != 4 {
				t.Fatalf("%v of 4 markers loop", n)
			}
		}
		b.broker.set(func(f *fakeSource) {
			if f.topologies < 2 { // the timer alone reads it once
				t.Errorf("read %d times: nobody asked whether the consumers of that time have gone", f.topologies)
			}
		})
	})
}

func TestOfMarkersThatCannotBeToldApartTheFigureSaysHowManyAreStuckAtLeast(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.pipelines[0].MaxProcessing = time.Minute
		b.broker.set(func(f *fakeSource) { f.sample.Queues[0].Unacked = ptr(2) })
		pass(source.TopologyInterval + 4*testInterval)
		b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(4, 100*time.Second) })
		pass(2 * testInterval)
		p := b.pipeline(t, "orders")
		if f := p.Stuck; f.Low != 2 || f.High != 4 || p.Verdicts[dedup.CannotTell].Value != 4 {
			t.Errorf("stuck %+v of %+v, want 2 to 4", f, p.Verdicts)
		}
		if got := stuckFinding(p); got == nil || !strings.HasSuffix(got.Text, "; 2 of these or more belong to nobody") || !strings.Contains(got.Evidence, "2 of the 4 overdue markers") {
			t.Errorf("finding %+v", got)
		}
	})
}

func TestStuckIsUnknownRatherThanZero(t *testing.T) {
	tests := map[string]struct {
		set func(*testBench)
		why string
	}{
		"while the broker is down": {func(b *testBench) { b.broker.set(func(f *fakeSource) { f.err = errors.New("refused") }) }, "broker main cannot be read: refused"},
		"while the store is down":  {func(b *testBench) { b.store.set(func(f *fakeSource) { f.err = errors.New("refused") }) }, "store orders cannot be read: refused"},
		"before the first pass":    {func(b *testBench) { b.store.set(func(f *fakeSource) { f.stats.Pass = nil }) }, "no complete pass over the store yet"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			during(t, func(t *testing.T, b *testBench) {
				b.pipelines[0].MaxProcessing = time.Minute
				b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(2, time.Hour) })
				pass(2 * testInterval)
				tt.set(b)
				pass(2 * testInterval)
				if f := b.pipeline(t, "orders").Stuck; f.Known() || f.Why != tt.why {
					t.Errorf("stuck %+v, want unknown because %q", f, tt.why)
				}
			})
		})
	}
	blind := &dedup.PipelineStatus{}
	finding.Verdicts{}.Show(blind, &dedup.StoreStatus{Scheme: dedup.Scheme{States: []dedup.State{dedup.Present}, Blind: "written before the work"}}, "")
	if blind.Stuck.Known() || blind.Stuck.Why != "written before the work" {
		t.Errorf("a blind scheme shows %+v", blind.Stuck)
	}
}

func TestCountsOfATruncatedListAreLowerBounds(t *testing.T) {
	p := stuckPass(3, time.Hour)
	p.States[dedup.Processing] = 1500
	e := dedup.Evidence{At: p.Started, MaxProcessing: time.Minute, NothingOut: [2]time.Time{p.Started.Add(-time.Minute), p.Started.Add(-2 * time.Minute)}}
	var got dedup.PipelineStatus
	finding.CountVerdicts(p, e, nackScheme).Show(&got, &dedup.StoreStatus{Evidence: e, Scheme: nackScheme}, "")
	if f := got.Stuck; f.Value != 3 || !f.AtLeast || f.Why != "at least: the oldest 3 of 1,500 processing markers were judged" {
		t.Errorf("stuck %+v", f)
	}
	if f := stuckFinding(&got); f == nil || !strings.HasPrefix(f.Text, "At least 3 markers are stuck") {
		t.Errorf("finding %+v", f)
	}
}

// Two pipelines share the store of orders: while a delivery of one is out, no marker of the store is dead, whoever's it is.
func TestEvidenceIsOfAllPipelinesOfAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testInterval)
		pipelines := []dedup.Pipeline{b.pipelines[0].Pipeline, b.pipelines[1].Pipeline}
		pipelines[0].MaxProcessing, pipelines[1].MaxProcessing = time.Minute, 2*time.Minute
		pipelines[1].Store = "orders"
		c, err := newCollector(Config{Interval: testInterval}, Deps{Brokers: []source.Broker{b.broker}, Stores: []Store{namedStore{b.store, "orders"}}, Pipelines: pipelines}, b.history)
		if err != nil {
			t.Fatal(err)
		}
		b.Collector = c
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		judged := func(unacked int64) (dedup.Evidence, dedup.Figure) {
			b.broker.set(func(f *fakeSource) {
				f.sample.Queues[2].Unacked, f.sample.Queues[2].Messages = ptr(unacked), ptr(unacked)
			})
			b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(1, 0) })
			pass(4 * testInterval)
			p := stuckPass(1, 4*testInterval+3*time.Minute)
			p.OldestProcessing[0].FirstSeen = p.Started.Add(-3 * testInterval)
			b.store.set(func(f *fakeSource) { f.stats.Pass = p })
			pass(2 * testInterval)
			return c.Snapshot().Stores[0].Evidence, c.Snapshot().Pipelines[1].Stuck
		}
		e, stuck := judged(1)
		if stuck.Value != 0 || *e.Consumers != 4 || *e.Unacked != 1 || e.MaxProcessing != 2*time.Minute {
			t.Errorf("while emails works: stuck %+v, evidence %+v", stuck, e)
		}
		if e, stuck = judged(0); stuck.Value != 1 || *e.Unacked != 0 {
			t.Errorf("when nobody works: stuck %+v, evidence %+v", stuck, e)
		}
		if got := c.Snapshot().Stores[0].Pipelines; len(got) != 2 || got[1] != "emails" {
			t.Errorf("pipelines of the store: %v", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A marker that the last pass saw, and whose work ended soon after, is not dead because the queues are empty now.
func TestReadingsAfterThePassBeganDoNotCount(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.pipelines[0].MaxProcessing = time.Second
		b.broker.set(func(f *fakeSource) { f.sample.Queues[0].Unacked = ptr(1) })
		pass(30 * time.Second)
		b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(1, 20*time.Second) })
		b.broker.set(func(f *fakeSource) { f.sample.Queues[0].Unacked = ptr(0) })
		pass(4 * testInterval)
		p := b.pipeline(t, "orders")
		if p.Stuck.Value != 0 || p.Verdicts[dedup.CannotTell].Value != 1 {
			t.Errorf("stuck %+v, verdicts %+v", p.Stuck, p.Verdicts)
		}
	})
}

// The lock of a pipeline is no second word on its markers: whichever store is judged last, the figures are those of the markers.
func TestALockStoreLeavesTheStuckFiguresOfThePipelineAlone(t *testing.T) {
	for name, last := range map[string]string{"the lock is judged after the markers": "locks", "the lock is judged before the markers": "markers"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, testInterval)
				p := b.pipelines[0].Pipeline
				p.MaxProcessing, p.Store, p.ReportedStore, p.Lock = time.Minute, "markers", "", "locks"
				stores := []Store{namedStore{b.store, "markers"}, namedStore{b.other, "locks"}}
				if last == "markers" {
					stores[0], stores[1] = stores[1], stores[0]
				}
				c, err := newCollector(Config{Interval: testInterval}, Deps{Brokers: []source.Broker{b.broker}, Stores: stores, Pipelines: []dedup.Pipeline{p}}, b.history)
				if err != nil {
					t.Fatal(err)
				}
				b.Collector = c
				b.other.scheme = dedup.Scheme{Kind: "redis-lock", Lock: true, ProcessingTTL: 30 * time.Second}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- c.Run(ctx) }()
				pass(source.TopologyInterval + 4*testInterval)
				b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(2, time.Hour) })
				b.other.set(func(f *fakeSource) { f.stats.Pass = stuckPass(11, time.Hour) })
				pass(2 * testInterval)
				got := b.pipeline(t, "orders")
				if got.Stuck.Value != 2 || got.Verdicts[dedup.ProbablyDead].Value != 2 {
					t.Errorf("stuck %+v, verdicts %+v; want the 2 of the markers", got.Stuck, got.Verdicts)
				}
				if f := stuckFinding(got); f == nil || !strings.HasPrefix(f.Text, "2 markers are stuck") || f.Tier != dedup.Warning {
					t.Errorf("finding %+v; want one of the 2 markers", f)
				}
				b.other.set(func(f *fakeSource) { f.err = errors.New("refused") })
				pass(2 * testInterval)
				if f := b.pipeline(t, "orders").Stuck; !f.Known() || f.Value != 2 {
					t.Errorf("while the lock store is down: stuck %+v; want the 2 of the markers", f)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
