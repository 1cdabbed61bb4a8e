package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/source"
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
				pass(source.TopologyInterval + 2*testInterval)
				set(b, tt.after)
				pass(source.TopologyInterval + 2*testInterval)
				b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(1, 2*time.Hour) })
				pass(2 * testInterval)
				if e := b.Snapshot().Stores[0].Evidence; e.Missing != "" || e.ClosedSince.IsZero() == tt.closed {
					t.Errorf("closed since %s (missing %q), want closings to testify: %v", e.ClosedSince, e.Missing, tt.closed)
				}
			})
		})
	}
}

func ordersRef() dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: "orders"} }
