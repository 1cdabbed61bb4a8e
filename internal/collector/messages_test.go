package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestMessagesAreExactWhereTheMeterProvesIt(t *testing.T) {
	acked := func(b *testBench, n, node, closed int64) {
		b.broker.set(func(f *fakeSource) {
			queues := append([]dedup.Queue(nil), f.sample.Queues...)
			queues[0].Counters.Ack = ptr(n)
			f.sample.Queues, f.sample.Totals, f.sample.ChannelsClosed = queues, []dedup.NodeTotals{{URL: "http://n1", Acked: node}}, ptr(closed)
			f.sample.State.Nodes = []dedup.Node{{Name: "n1", Running: true}}
		})
	}
	for _, tt := range []struct {
		name    string
		lost    int64
		atLeast bool
		words   string
	}{
		{"none was lost", 0, false, "prove that no count of an ack was lost"},
		{"some were lost", 30, true, "lost the counts of 30 to 30 acks"},
	} {
		duringFrom(t, func(b *testBench) { acked(b, 0, 5000, 0) }, func(t *testing.T, b *testBench) {
			b.other.set(func(f *fakeSource) { f.stats.Pass = nil })
			pass(2 * time.Minute)
			acked(b, 470, 5470+tt.lost, 3)
			pass(2 * time.Minute)
			f := b.pipeline(t, "emails").Windows[0].Messages
			orders := b.pipeline(t, "orders").Windows[0].Messages
			if orders.Value != 470 || orders.AtLeast != tt.atLeast || !strings.Contains(orders.Why, tt.words) {
				t.Errorf("%s: %+v; emails %+v", tt.name, orders, f)
			}
		})
	}
}
