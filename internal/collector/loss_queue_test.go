package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// TestTheMeterOfAPipelineIsExactOnABrokerThatNeverRests: orders loses 30 counts and rests, emails goes on.
func TestTheMeterOfAPipelineIsExactOnABrokerThatNeverRests(t *testing.T) {
	orders, emails := dedup.QueueRef{Vhost: "/", Name: "orders"}, dedup.QueueRef{Vhost: "/", Name: "emails"}
	for name, tt := range map[string]struct {
		change func(*dedup.BrokerSample)
		known  bool
	}{
		"two nodes tell": {nil, true},
		"one node cannot be read": {func(s *dedup.BrokerSample) {
			s.QueueTotals[1] = dedup.NodeQueueTotals{URL: "http://n2", Err: "no answer"}
		}, false},
		"one node is not listed": {func(s *dedup.BrokerSample) { s.QueueTotals = s.QueueTotals[:1] }, false},
		"a broker before 4.1":    {func(s *dedup.BrokerSample) { s.QueueTotals = nil }, false},
		"no node can be listed":  {func(s *dedup.BrokerSample) { s.State.Nodes = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, m := newLossyBroker(), newQueueMeter()
			from, acked, other := b.at.Add(12*time.Second), int64(5000), int64(70)
			for i := range 14 {
				m.absorb(b.sample(func(s *dedup.BrokerSample) {
					s.State.Nodes = append(s.State.Nodes, dedup.Node{Name: "n2", Running: true})
					s.QueueTotals = []dedup.NodeQueueTotals{
						{URL: "http://n1", Queues: map[dedup.QueueRef]dedup.QueueEvents{orders: {Acked: acked}, emails: {Acked: 9000 + other}}},
						{URL: "http://n2", Queues: map[dedup.QueueRef]dedup.QueueEvents{emails: {Acked: other}}},
					}
					if tt.change != nil {
						tt.change(s)
					}
				}), false, []dedup.QueueRef{orders}, nil)
				if i > 3 && i < 9 {
					b.ack(0, 50)
					acked += 50
				}
				if i == 6 {
					b.die(0)
				}
				b.ack(1, 44)
				other += 44
				b.pass(5 * time.Second)
			}
			counts, known := m.lost()
			if known != tt.known {
				t.Fatalf("known %v, want %v", known, tt.known)
			}
			if !known {
				return
			}
			low, high, ok := counts.Acks.lost(from, b.at.Add(-5*time.Second))
			if want := float64(b.lost); !ok || want == 0 || low != want || high != want {
				t.Errorf("lost %v..%v (%v), want %v", low, high, ok, want)
			}
			if low, high, ok := counts.Publishes.lost(from, b.at.Add(-5*time.Second)); !ok || low != 0 || high != 0 {
				t.Errorf("lost publishes %v..%v (%v), want none", low, high, ok)
			}
		})
	}
}

// TestAPipelineIsToldItsOwnLossesAndNoneOfOthers: the broker lost 30 counts of acks, none of them of orders.
func TestAPipelineIsToldItsOwnLossesAndNoneOfOthers(t *testing.T) {
	acked := func(b *testBench, n, node, closed int64) {
		b.broker.set(func(f *fakeSource) {
			queues := append([]dedup.Queue(nil), f.sample.Queues...)
			queues[0].Counters.Ack = ptr(n)
			own := map[dedup.QueueRef]dedup.QueueEvents{queues[0].QueueRef: {Acked: 7000 + n}}
			f.sample.Queues, f.sample.Totals, f.sample.ChannelsClosed = queues, []dedup.NodeTotals{{URL: "http://n1", Acked: node}}, ptr(closed)
			f.sample.QueueTotals = []dedup.NodeQueueTotals{{URL: "http://n1", Queues: own}}
			f.sample.State.Nodes = []dedup.Node{{Name: "n1", Running: true}}
		})
	}
	duringFrom(t, func(b *testBench) { acked(b, 0, 5000, 0) }, func(t *testing.T, b *testBench) {
		b.other.set(func(f *fakeSource) { f.stats.Pass = nil })
		pass(2 * time.Minute)
		acked(b, 470, 5500, 3)
		pass(2 * time.Minute)
		orders := b.pipeline(t, "orders").Windows[0].Messages
		if orders.Value != 470 || orders.AtLeast || !strings.Contains(orders.Why, "prove that no count of an ack was lost") {
			t.Errorf("%+v", orders)
		}
	})
}
