package collector

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// flow lets the broker count for a span: so many redeliveries and acks each interval, and so many messages waiting.
func flow(b *testBench, d time.Duration, redeliveries, acks, ready int64) {
	for past := time.Duration(0); past < d; past += testInterval {
		b.broker.set(func(f *fakeSource) {
			q := &f.sample.Queues[0]
			at := func(n *int64, more int64) *int64 {
				if n == nil {
					return ptr(more)
				}
				return ptr(*n + more)
			}
			q.Counters = dedup.QueueCounters{Redeliver: at(q.Counters.Redeliver, redeliveries), Deliver: at(q.Counters.Deliver, redeliveries+acks),
				Ack: at(q.Counters.Ack, acks), Publish: at(q.Counters.Publish, acks)}
			q.Ready, q.Unacked, q.Messages = ptr(ready), ptr(2), ptr(ready+2)
		})
		pass(testInterval)
	}
}

func findingOf(p *dedup.PipelineStatus, kind string) *dedup.Finding {
	for i := range p.Findings {
		if p.Findings[i].Kind == kind {
			return &p.Findings[i]
		}
	}
	return nil
}

// Redis is gone for five minutes and a half: messages go round and nothing is acked. Then it is back and messages flow.
func TestAnOutageIsNotTakenForALoopOnceItIsOver(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.pipelines[0].MaxProcessing = 30 * time.Second
		b.store.set(func(f *fakeSource) {
			p := stuckPass(2, time.Hour)
			f.stats = dedup.StoreStats{Pass: p}
		})
		b.broker.set(func(f *fakeSource) {
			consumer := dedup.Consumer{Queue: ordersRef(), Channel: "1", Connection: "c", Prefetch: 1, AckRequired: true}
			f.topology.Consumers = []dedup.Consumer{consumer, consumer}
		})
		b.brokers[0].read.WantTopology()
		flow(b, 2*time.Minute, 0, 50, 10)
		b.store.set(func(f *fakeSource) { f.err = errors.New("refused") })
		flow(b, 5*time.Minute+30*time.Second, 500, 0, 6669)
		p := b.pipeline(t, "orders")
		if f := findingOf(p, "head_blocked"); f == nil || f.Tier != dedup.Emergency || !strings.Contains(f.Text, "store orders cannot be read since") {
			t.Errorf("nothing is acked without the store: %+v in %v", f, kindsOf(p))
		}
		if f := findingOf(p, "looping"); f == nil || !strings.Contains(f.Evidence, "store orders cannot be read since") || strings.Contains(f.Evidence, "marker") {
			t.Errorf("looping without the store: %+v", f)
		}
		b.store.set(func(f *fakeSource) { f.err = nil })
		flow(b, testInterval, 500, 0, 6669)
		f := findingOf(b.pipeline(t, "orders"), "recovering")
		if f == nil || f.Tier != dedup.Normal || !strings.Contains(f.Text, "Recovering: store orders was unreachable for 5 m") || !strings.HasSuffix(f.Text, "6,669 messages waiting") {
			t.Errorf("just after: %+v", f)
		}
		for past := time.Duration(0); past < 4*time.Minute; past += testInterval {
			flow(b, testInterval, 70, 60, 5000)
			p := b.pipeline(t, "orders")
			if kinds := kindsOf(p); slices.Contains(kinds, "looping") || slices.Contains(kinds, "head_blocked") || !slices.Contains(kinds, "recovering") {
				t.Fatalf("%v after the outage, with messages flowing: %+v", past, p.Findings)
			}
		}
		flow(b, 2*time.Minute, 0, 60, 0)
		if kinds := kindsOf(b.pipeline(t, "orders")); slices.Contains(kinds, "recovering") {
			t.Error("six minutes after the outage the pipeline still recovers")
		}
		flow(b, 3*time.Minute, 500, 0, 10)
		if kinds := kindsOf(b.pipeline(t, "orders")); !slices.Contains(kinds, "looping") || !slices.Contains(kinds, "head_blocked") {
			t.Errorf("a loop that begins after the outage is not seen: %v", kinds)
		}
		var said bool
		for _, e := range b.pipeline(t, "orders").Events {
			said = said || e.Kind == "source_up" && strings.Contains(e.Text, "store orders answers again after 5 m")
		}
		if !said {
			t.Errorf("no event says how long the outage was: %+v", b.pipeline(t, "orders").Events)
		}
	})
}

// A timeout now and then is no outage, and must not hide a loop for ever.
func TestAShortOutageHidesNoLoop(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		flow(b, 2*time.Minute, 500, 0, 10)
		for range 3 {
			b.store.set(func(f *fakeSource) { f.err = errors.New("slow") })
			flow(b, testInterval, 500, 0, 10)
			b.store.set(func(f *fakeSource) { f.err = nil })
			flow(b, 2*testInterval, 500, 0, 10)
		}
		if kinds := kindsOf(b.pipeline(t, "orders")); !slices.Contains(kinds, "looping") || slices.Contains(kinds, "recovering") {
			t.Errorf("found %v", kinds)
		}
	})
}

// Markers are blamed only when their messages can be those that go round.
func TestALoopNamesOnlyMarkersThatItsMessagesCanWaitFor(t *testing.T) {
	for name, tt := range map[string]struct {
		markers int
		age     time.Duration
		ready   int64
		named   bool
	}{
		"as many as messages, older than the loop":           {2, time.Hour, 10, true},
		"more of them than messages":                         {108, time.Hour, 10, false},
		"some that were set after the loop had begun":        {2, 2 * time.Minute, 10, false},
		"one for each message that is out, nobody waits":     {2, time.Hour, 0, true},
		"three where there are only two messages altogether": {3, time.Hour, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			during(t, func(t *testing.T, b *testBench) {
				b.pipelines[0].MaxProcessing = 30 * time.Second
				flow(b, 6*time.Minute, 500, 0, tt.ready)
				b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(tt.markers, tt.age) })
				flow(b, 2*testInterval, 500, 0, tt.ready)
				f := findingOf(b.pipeline(t, "orders"), "looping")
				if f == nil {
					t.Fatalf("no loop in %v", kindsOf(b.pipeline(t, "orders")))
				}
				if got := strings.Contains(f.Evidence, "m0"); got != tt.named || strings.Contains(f.Mend, "their messages then go on") {
					t.Errorf("markers named: %v, want %v: %+v", got, tt.named, f)
				}
				if !strings.Contains(f.Text, "queue orders") || (!tt.named && !strings.Contains(f.Mend, "is not known")) {
					t.Errorf("%+v does not name the queue, or does not say that the markers are not known", f)
				}
			})
		})
	}
}
