package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A worker that takes its messages by basic.get holds them on a connection that is no consumer's: whatever consumers do,
// it may live. The broker's raw counters say that there is or was one, however long ago and before whatever restart.
func TestClosedConnectionsSayNothingOfAWorkerThatGets(t *testing.T) {
	takes := func(n *int64) func(*dedup.Queue) { return func(q *dedup.Queue) { q.Counters.Get = n } }
	tests := map[string]struct {
		// before and after are what the queue counts before and after closings were learned.
		before, after func(*dedup.Queue)
		mode          string
		closed        bool
	}{
		"nobody gets":                                 {takes(nil), takes(nil), "basic", true},
		"nobody has got a message yet":                {takes(ptr(0)), takes(ptr(0)), "basic", true},
		"somebody got one before the dashboard ran":   {takes(ptr(1)), takes(ptr(1)), "basic", false},
		"somebody gets once closings were learned":    {takes(nil), takes(ptr(1)), "basic", false},
		"somebody gets without acks":                  {takes(nil), func(q *dedup.Queue) { q.Counters.GetNoAck = ptr(3) }, "basic", false},
		"a broker without rates cannot tell":          {takes(nil), takes(nil), "none", false},
		"the queue is hidden once closings are known": {takes(nil), func(q *dedup.Queue) { q.Name = "renamed" }, "basic", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set := func(b *testBench, change func(*dedup.Queue)) {
				b.broker.set(func(f *fakeSource) {
					q := f.sample.Queues[0]
					q.Consumers = ptr(1)
					change(&q)
					f.sample.Queues = append([]dedup.Queue{q}, f.sample.Queues[1:]...)
					f.sample.Info.RatesMode = tt.mode
					f.topology.Consumers = []dedup.Consumer{{Queue: ordersRef(), Channel: "c", Connection: "worker", AckRequired: true}}
					f.topology.Connections = []dedup.Connection{{Name: "worker", Opened: time.Now().Add(-time.Hour)}}
				})
			}
			duringFrom(t, func(b *testBench) { set(b, tt.before) }, func(t *testing.T, b *testBench) {
				pass(topologyInterval + 2*testInterval)
				set(b, tt.after)
				pass(topologyInterval + 2*testInterval)
				b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(1, 2*time.Hour) })
				pass(2 * testInterval)
				if e := b.Snapshot().Stores[0].Evidence; e.Missing != "" || e.ClosedSince.IsZero() == tt.closed {
					t.Errorf("closed since %s (missing %q), want closings to testify: %v", e.ClosedSince, e.Missing, tt.closed)
				}
			})
		})
	}
}

// The broker's counters are late: that nobody took a message by basic.get is only known of the time before counterLag.
func TestClosingsWaitForTheCountersOfGets(t *testing.T) {
	since := at(100)
	s := &storeShore{closings: closings{all: []closing{{At: at(90), Since: at(5)}, {At: at(101), Since: since}}, trusted: true}, shore: newShore()}
	queues := brokerWith(0, 0, 0, nil)
	for _, tt := range []struct {
		second float64
		want   time.Time
	}{{50, at(5)}, {102, at(5)}, {105, at(5)}, {106, since}, {200, since}} {
		s.noteGets(queues, at(tt.second), true)
		if got := s.closings.until(at(300), s.ungot); !got.Since.Equal(tt.want) {
			t.Errorf("a reading at %v s: closed since %s, want %s", tt.second, got.Since, tt.want)
		}
	}
	s.noteGets(queues, at(400), false)
	if !s.ungot.Equal(at(200 - counterLag.Seconds())) {
		t.Errorf("a reading without counters tells of the gets until %s", s.ungot)
	}
	queues[ordersRef()].Counters.Get = ptr(1)
	s.noteGets(queues, at(500), true)
	queues[ordersRef()].Counters.Get = ptr(0) // deleted and declared anew
	s.noteGets(queues, at(600), true)
	if got := s.closings.until(at(700), s.ungot); !got.Since.IsZero() {
		t.Errorf("what was learned before somebody got a message testifies again: %+v", got)
	}
}
