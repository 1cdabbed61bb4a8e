package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

var ordersQueue = dedup.QueueRef{Vhost: "/", Name: "orders"}

func subscribed(channels ...string) []dedup.Consumer {
	all := []dedup.Consumer{}
	for _, c := range channels {
		all = append(all, dedup.Consumer{Queue: ordersQueue, Channel: c, Connection: c, Tag: "ctag"})
	}
	return all
}

func TestConsumersThatTheBrokerWithholdsMakeTheRestartsUnknown(t *testing.T) {
	duringFrom(t, func(b *testBench) { b.broker.topology.Consumers = subscribed("a", "b") }, func(t *testing.T, b *testBench) {
		pass(2 * time.Minute)
		b.broker.set(func(f *fakeSource) { f.topology.Consumers, f.sample.ChannelsClosed = subscribed("a", "c"), ptr(1) })
		pass(2 * time.Minute)
		f := b.pipeline(t, "orders").Windows[0].ConsumerRestarts
		if f.N != 1 || !f.AtLeast || f.Quality != dedup.Derived || !hasEvent(b.pipeline(t, "orders"), "consumer_restart", "1 consumer was restarted") {
			t.Errorf("%+v, %+v", f, b.pipeline(t, "orders").Events)
		}
		b.broker.set(func(f *fakeSource) { f.topology.Consumers = nil })
		pass(4 * time.Minute)
		if f := b.pipeline(t, "orders").Windows[0].ConsumerRestarts; f.Known() || !strings.Contains(f.Why, "does not list consumers") {
			t.Errorf("%+v", f)
		}
	})
}

func TestAnAckTimeoutReachesThePageOfItsPipeline(t *testing.T) {
	log := dedup.BrokerLog{Listening: true, Epoch: 1, Named: map[dedup.QueueRef]int64{}}
	duringFrom(t, func(b *testBench) { b.broker.sample.Info.Version, b.broker.sample.Log = "3.13.7", &log }, func(t *testing.T, b *testBench) {
		pass(2 * time.Minute)
		if f := b.pipeline(t, "orders").Windows[0].AckTimeouts; f.Known() || !strings.Contains(f.Why, "no line of") {
			t.Errorf("before a node was heard: %+v", f)
		}
		more := log
		more.Heard = map[string]bool{}
		for _, n := range b.broker.sample.State.Nodes {
			more.Heard[n.Name] = true
		}
		more.Heard["any"] = true
		more.Named = map[dedup.QueueRef]int64{{Vhost: "/", Name: "orders"}: 2}
		b.broker.set(func(f *fakeSource) { f.sample.Log = &more })
		pass(2 * time.Minute)
		f := b.pipeline(t, "orders").Windows[0].AckTimeouts
		if f.Quality != dedup.Measured || f.N != 2 || f.Value < 25 || f.Value > 45 {
			t.Errorf("%+v", f)
		}
		if other := b.pipeline(t, "emails").Windows[0].AckTimeouts; other.Quality != dedup.Measured || other.Value != 0 {
			t.Errorf("of another pipeline: %+v", other)
		}
		if !hasEvent(b.pipeline(t, "orders"), "ack_timeout", "2 consumers of queue orders") || hasEvent(b.pipeline(t, "emails"), "ack_timeout", "") {
			t.Errorf("%+v", b.pipeline(t, "orders").Events)
		}
		b.broker.set(func(f *fakeSource) { f.sample.Log = nil })
		pass(time.Minute)
		if f := b.pipeline(t, "orders").Windows[0].AckTimeouts; f.Known() || !strings.Contains(f.Why, "not observable on this broker") || !strings.Contains(f.Better, "log.exchange = true") {
			t.Errorf("without a log: %+v", f)
		}
		b.broker.set(func(f *fakeSource) {
			f.topology.Exchanges = []dedup.Exchange{{Vhost: "/", Name: "amq.rabbitmq.log", Type: "topic"}}
		})
		pass(4 * time.Minute)
		if f := b.pipeline(t, "orders").Windows[0].AckTimeouts; f.Known() || !strings.Contains(f.Why, "nobody listens") || !strings.Contains(f.Better, "brokers[].log") {
			t.Errorf("with a log that nobody listens to: %+v", f)
		}
	})
}

func hasEvent(p *dedup.PipelineStatus, kind, text string) bool {
	for _, e := range p.Events {
		if e.Kind == kind && strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}
