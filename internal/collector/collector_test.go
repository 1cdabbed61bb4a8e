package collector

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

const testInterval = 15 * time.Second

// during runs a collector over fakes in a bubble of its own time, and stops it.
func during(t *testing.T, test func(t *testing.T, b *testBench)) {
	duringFrom(t, func(*testBench) {}, test)
}

// duringFrom is during over sources that are prepared before the collector sees them.
func duringFrom(t *testing.T, prepare func(*testBench), test func(t *testing.T, b *testBench)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testInterval)
		prepare(b)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		pass(3 * time.Second)
		test(t, b)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestEverySourceIsTriedWithinASecondAndShownAtOnce(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		if !b.Tried() {
			t.Fatal("not every source was tried within three seconds")
		}
		p := b.pipeline(t, "orders")
		if !p.Gauges[dedup.Ready].Known() || len(p.Down) != 0 {
			t.Errorf("ready %+v, down %v; want a value and nothing down", p.Gauges[dedup.Ready], p.Down)
		}
		if p.DeadLetters.Value != 4 || len(p.DeadLetterQueues) != 1 {
			t.Errorf("dead letters %+v in %v; want the 4 of orders.dlq, found by argument", p.DeadLetters, p.DeadLetterQueues)
		}
		if e := b.pipeline(t, "emails"); e.DeadLetters.Known() || e.DeadLetters.Why == "" {
			t.Errorf("emails has no dead-letter queue, but shows %+v", e.DeadLetters)
		}
	})
}

func TestAFedExampleShowsItsExactRate(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		pass(testInterval)
		b.store.set(func(f *fakeSource) {
			f.reported = dedup.Reported{Present: true, Outcomes: map[string]int64{"processed": 9850, "duplicate_done": 150}}
		})
		pass(testInterval + counter.LongWindowEvery) // long windows are computed once a minute
		for _, w := range b.pipeline(t, "orders").Windows {
			r := w.DuplicateRate
			if r.Value != 0.015 || r.Quality != dedup.Measured || r.N != 10000 || r.Hits != 150 {
				t.Errorf("window %s: rate %+v, want 1.5 %% of 10000, measured", w.Window, r)
			}
			if w.Messages.Value != 10000 || w.Duplicates.Value != 150 {
				t.Errorf("window %s: %v messages, %v duplicates", w.Window, w.Messages.Value, w.Duplicates.Value)
			}
		}
	})
}

// A rate that rises is held against what happened until it was read: the round that shows it comes up to an interval later.
func TestReportedFiguresAreOfWhenTheyWereRead(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		pass(testInterval)
		b.store.set(func(f *fakeSource) {
			f.reported = dedup.Reported{Present: true, Outcomes: map[string]int64{"processed": 9850, "duplicate_done": 150}}
		})
		pass(2 * testInterval)
		var read time.Time
		b.store.set(func(f *fakeSource) { read = f.reportedAt })
		round := b.Collector.Snapshot().At
		if !read.Before(round) {
			t.Fatalf("read at %v, in a round of %v: nothing to tell apart", read, round)
		}
		if r := b.pipeline(t, "orders").Windows[1].DuplicateRate; !r.At.Equal(read) {
			t.Errorf("a rate of counters that were read at %v is as of %v", read, r.At)
		}
	})
}

func TestAStoppedStoreTurnsItsPipelineUnknownAndRecovers(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.store.set(func(f *fakeSource) {
			f.reported = dedup.Reported{Present: true, Outcomes: map[string]int64{"processed": 500, "duplicate_done": 5}}
			f.stats = dedup.StoreStats{Pass: &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 500}}}
		})
		pass(2 * testInterval)
		if p := b.pipeline(t, "orders"); !p.Windows[1].DuplicateRate.Known() || !p.Markers[dedup.Done].Known() {
			t.Fatalf("before: rate %+v, markers %+v", p.Windows[1].DuplicateRate, p.Markers)
		}
		b.store.set(func(f *fakeSource) {
			f.err = &dedup.Error{Kind: dedup.Unavailable, Public: "Redis refuses connections"}
		})
		pass(2 * testInterval)
		p := b.pipeline(t, "orders")
		for _, f := range []dedup.Figure{p.Windows[1].DuplicateRate, p.Markers[dedup.Done], p.OldestProcessing, p.PassAge} {
			if f.Known() || !strings.Contains(f.Why, "Redis refuses connections") {
				t.Errorf("two intervals after the stop: %+v, want unknown with the reason", f)
			}
		}
		if len(p.Down) != 2 || !p.Gauges[dedup.Ready].Known() {
			t.Errorf("down %v, ready %+v; want store and reported down, the broker's figures known", p.Down, p.Gauges[dedup.Ready])
		}
		if e := b.pipeline(t, "emails"); len(e.Down) != 0 || !e.Gauges[dedup.Ready].Known() {
			t.Errorf("the other pipeline is touched: %v", e.Down)
		}
		if _, ok := b.history.current(series.ReportedOutcomes, "pipeline", "orders", "outcome", "processed"); ok {
			t.Error("the stopped source's series was not ended")
		}
		b.store.set(func(f *fakeSource) { f.err = nil })
		pass(2 * testInterval)
		p = b.pipeline(t, "orders")
		if len(p.Down) != 0 || !p.Windows[1].DuplicateRate.Known() {
			t.Errorf("after the start: down %v, rate %+v", p.Down, p.Windows[1].DuplicateRate)
		}
		kinds := map[string]bool{}
		for _, e := range p.Events {
			kinds[e.Kind] = true
		}
		if !kinds["source_down"] || !kinds["source_up"] {
			t.Errorf("events %v, want the source's going and coming", p.Events)
		}
	})
}

func TestAStoppedBrokerTurnsAllItsPipelinesUnknown(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.store.set(func(f *fakeSource) {
			f.reported = dedup.Reported{Present: true, Outcomes: map[string]int64{"processed": 500, "duplicate_done": 5}}
		})
		pass(2 * testInterval)
		b.broker.set(func(f *fakeSource) { f.err = errors.New("connection refused") })
		pass(2 * testInterval)
		for _, name := range []string{"orders", "emails"} {
			p := b.pipeline(t, name)
			for _, f := range []dedup.Figure{p.Gauges[dedup.Ready], p.DeadLetters, p.Windows[1].DuplicateRate, p.Windows[1].Messages} {
				if f.Known() || !strings.Contains(f.Why, "connection refused") {
					t.Errorf("%s: %+v, want unknown with the reason", name, f)
				}
			}
		}
		if cross := b.pipeline(t, "orders").Windows[1].CrossCheck; cross.Hits != 5 || cross.N != 505 {
			t.Errorf("what consumers report is lost as a cross-check: %+v", cross)
		}
		b.broker.set(func(f *fakeSource) { f.err = nil })
		pass(2 * testInterval)
		if p := b.pipeline(t, "orders"); !p.Windows[1].DuplicateRate.Known() || !p.Gauges[dedup.Ready].Known() {
			t.Errorf("after the start: %+v, ready %+v", p.Windows[1].DuplicateRate, p.Gauges[dedup.Ready])
		}
	})
}

func TestAHungSourceFreezesNobody(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		release := make(chan struct{})
		b.store.set(func(f *fakeSource) { f.hang = release })
		round := b.Snapshot().Round
		pass(10 * testInterval)
		if got := b.Snapshot().Round - round; got < 10 {
			t.Errorf("%d rounds in 10 intervals", got)
		}
		p := b.pipeline(t, "orders")
		if len(p.Down) != 2 || !strings.Contains(p.Down[0].Err, "no answer") || p.Down[0].Missed < 5 {
			t.Errorf("down %+v, want the hung store with its missed ticks", p.Down)
		}
		b.store.set(func(f *fakeSource) { f.hang = nil })
		close(release)
		pass(2 * testInterval)
		if p := b.pipeline(t, "orders"); len(p.Down) != 0 || b.Snapshot().Sources[2].Missed < 5 {
			t.Errorf("after the end of the hang: down %v, sources %+v", p.Down, b.Snapshot().Sources)
		}
	})
}

func TestHistoryThatOpensLateOrFailsSpoilsOnlyTheWindows(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		for why, err := range map[string]error{"history is being opened": series.ErrStarting, "no space left": errors.New("no space left on device")} {
			b.history.fail(err)
			pass(2 * testInterval)
			p := b.pipeline(t, "orders")
			if r := p.Windows[0].DuplicateRate; r.Known() || !strings.Contains(r.Why, why) {
				t.Errorf("rate %+v, want unknown because %s", r, why)
			}
			if !p.Gauges[dedup.Ready].Known() || !p.DeadLetters.Known() {
				t.Errorf("figures that need no history are gone: %+v", p.Gauges[dedup.Ready])
			}
		}
		b.history.fail(nil)
		pass(2 * testInterval)
		if m := b.pipeline(t, "orders").Windows[0].GaveUp; strings.Contains(m.Why, "history") {
			t.Errorf("it does not heal: %+v", m)
		}
	})
}

func TestCountersGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newBench(t, testInterval)
		first.round(t.Context(), time.Now())
		one := first.pipelines[0]
		one.reported.outcomes["processed"].Take(sample.Step{Delta: 40})
		one.report.src.Finish(time.Now(), 0, nil)
		first.round(t.Context(), time.Now().Add(time.Second))

		second := newBench(t, testInterval)
		second.goOnFrom(first.history)
		second.round(t.Context(), time.Now().Add(time.Minute))
		if got := second.pipelines[0].reported.outcomes["processed"].Total; got != 40 {
			t.Errorf("the counter goes on from %v, want 40", got)
		}
	})
}

// TestACounterNeverFallsWhereTheHistoryOpensLate: it is replayed for long after a crash, while sources are read already.
func TestACounterNeverFallsWhereTheHistoryOpensLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newBench(t, testInterval)
		now := time.Now()
		take := func(b *testBench, n int64) {
			p := b.pipelines[0]
			p.reported.outcomes["processed"].Take(sample.Step{Delta: n})
			p.report.src.Finish(time.Now(), 0, nil)
		}
		first.round(t.Context(), now)
		take(first, 40)
		first.round(t.Context(), now.Add(time.Second))

		second := newBench(t, testInterval)
		second.goOnFrom(first.history)
		second.history.fail(series.ErrStarting)
		take(second, 3)
		second.round(t.Context(), now.Add(10*time.Second))
		second.history.fail(nil)
		second.round(t.Context(), now.Add(20*time.Second))
		if got, _ := second.history.current(series.ReportedOutcomes, "pipeline", "orders", "outcome", "processed"); got != 43 {
			t.Errorf("the first value after the restart is %v, want 43", got)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]Config{
		"a timeout that is not below the interval": {Interval: 5 * time.Second, Timeout: 5 * time.Second},
		"an interval that is too short":            {Interval: time.Millisecond},
	} {
		if _, err := newCollector(cfg, Deps{}, newFakeHistory()); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := newCollector(Config{}, Deps{Pipelines: []dedup.Pipeline{{Name: "a", Broker: "nowhere"}}}, newFakeHistory()); err == nil {
		t.Error("a pipeline on a broker that does not exist is accepted")
	}
}

func TestAYoungCollectorDoesNotVouchForADay(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		pass(10 * time.Minute)
		now := time.Now()
		b.store.set(func(f *fakeSource) { f.stats.Pass = &dedup.Pass{Started: now, Ended: now} })
		pass(2 * testInterval)
		f := b.pipeline(t, "orders").Windows[3].GaveUp
		if !f.Known() || f.Covered < 9*time.Minute || f.Covered > 11*time.Minute {
			t.Errorf("given up %+v, want the ten minutes that the store was followed for", f)
		}
	})
}

func TestMessagesAreALowerBoundWhenChannelsClosed(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		acks := func(n, closed int64) {
			b.broker.set(func(f *fakeSource) {
				f.sample.Queues[2].Counters.Ack, f.sample.ChannelsClosed = ptr(n), ptr(closed)
			})
			pass(2 * testInterval)
		}
		acks(100, 0)
		acks(200, 0)
		if m := b.pipeline(t, "emails").Windows[0].Messages; !m.Known() || m.AtLeast {
			t.Fatalf("without closed channels: %+v", m)
		}
		acks(300, 4)
		if m := b.pipeline(t, "emails").Windows[0].Messages; !m.AtLeast || m.Low != m.Value || m.Value <= 0 {
			t.Errorf("after channels were closed: %+v, want a lower bound", m)
		}
	})
}
