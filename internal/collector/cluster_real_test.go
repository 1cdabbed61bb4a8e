//go:build matrix

package collector_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// A cluster is a dashboard's observing half on a real cluster, with a consumer at each of two nodes.
type cluster struct {
	*servers.RabbitCluster
	*deathbed
	consumers [3]*amqp091.Connection
	lines     [3]<-chan amqp091.Delivery
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{RabbitCluster: serverstest.RabbitCluster(t, servers.RabbitMQOptions{ErlangArgs: "-kernel net_ticktime 4", StatisticsInterval: time.Second}, 3)}
	c.deathbed = &deathbed{rabbit: c.Nodes[0]}
	must(t, c.rabbit.API(t.Context(), http.MethodPut, "/api/queues/%2F/orders", map[string]any{"durable": true}, nil))
	log := slog.New(slog.DiscardHandler)
	history, err := series.Open(series.Config{Dir: filepath.Join(t.TempDir(), "series"), Retention: 24 * time.Hour, MaxBytes: 1 << 28, Interval: 2 * time.Second}, log)
	must(t, err)
	t.Cleanup(func() { must(t, history.Close()) })
	user, password := c.rabbit.Admin()
	config := broker.Config{Name: "main", Username: user, Password: secret.New(password)}
	for _, node := range []int{1, 0, 2} { // the one that is killed is asked first
		config.ManagementURLs = append(config.ManagementURLs, c.Nodes[node].ManagementURL())
	}
	client, err := broker.New(config)
	must(t, err)
	t.Cleanup(client.Close)
	c.collector, err = collector.New(collector.Config{Interval: 2 * time.Second}, collector.Deps{Brokers: []source.Broker{client}, Series: history, Log: log,
		Pipelines: []dedup.Pipeline{{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}, Limits: dedup.DefaultLimits()}}})
	must(t, err)
	running, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.collector.Run(running) }()
	t.Cleanup(func() { stop(); <-done })
	return c
}

// consumeAt starts a consumer at a node, in place of the one that was there.
func (c *cluster) consumeAt(t *testing.T, node int) {
	t.Helper()
	if before := c.consumers[node]; before != nil {
		_ = before.Close()
	}
	connection, err := amqp091.Dial(c.Nodes[node].AMQPURL(c.rabbit.Admin()))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	channel, err := connection.Channel()
	must(t, err)
	must(t, channel.Qos(1, 0, false))
	c.lines[node], err = channel.Consume("orders", "", false, false, false, false, nil)
	must(t, err)
	c.consumers[node] = connection
}

// work lets n messages be acked at each of some nodes.
func (c *cluster) work(t *testing.T, n int, nodes ...int) {
	t.Helper()
	publisher, err := amqp091.Dial(c.rabbit.AMQPURL(c.rabbit.Admin()))
	must(t, err)
	defer publisher.Close()
	channel, err := publisher.Channel()
	must(t, err)
	for range n * len(nodes) {
		must(t, channel.PublishWithContext(t.Context(), "", "orders", false, false, amqp091.Publishing{}))
	}
	for range n * len(nodes) {
		var d amqp091.Delivery
		select {
		case d = <-c.lines[0]:
		case d = <-c.lines[1]:
		case d = <-c.lines[2]:
		case <-time.After(time.Minute):
			t.Fatal("no delivery came")
		}
		must(t, d.Ack(false))
		c.acked++
	}
}

// lives waits until the collector has read the broker for a while, in which a node goes or comes, and holds each count against what was done: so many
// messages were acked, and nothing was delivered twice, dead-lettered or timed out.
func (c *cluster) lives(t *testing.T, while time.Duration) {
	t.Helper()
	until := time.Now().Add(while)
	eventually(t, while+2*time.Minute, "the cluster was watched", func() bool {
		_, w := c.figures()
		if w.Messages.Known() && w.Messages.Value > float64(c.acked) {
			t.Fatalf("%d messages were acked, and %v are shown: %s", c.acked, w.Messages.Value, w.Messages.Why)
		}
		for name, none := range map[string]dedup.Figure{"duplicates": w.Duplicates, "redeliveries": w.Redeliveries, "dead letters": w.DeadLetterInflow, "ack timeouts": w.AckTimeouts} {
			if none.Known() && none.Low > 0 {
				t.Fatalf("there were no %s, and %v are shown: %+v", name, none.Value, none)
			}
		}
		for _, s := range c.collector.Snapshot().Sources {
			if s.Name == "broker main" {
				return s.OK && s.LastSuccess.After(until)
			}
		}
		return false
	})
}

// runs reports whether the dashboard sees a node running.
func (c *cluster) runs(node int) bool {
	for _, b := range c.collector.Snapshot().Brokers {
		for _, n := range b.State.Nodes {
			if n.Name == c.Nodes[node].Node() {
				return n.Running
			}
		}
	}
	return false
}

// A nodeHarm takes the third node away, and brings it back.
type nodeHarm struct {
	name       string
	away, back func()
}

// nodeHarms are ten kills, one node that hangs, three partitions and a rolling restart.
func (c *cluster) nodeHarms(t *testing.T) []nodeHarm {
	node := c.Nodes[2]
	kill := nodeHarm{"killed", node.Kill, func() { must(t, node.Restart(t.Context())) }}
	hang := nodeHarm{"hung", node.Pause, node.Resume}
	cut := nodeHarm{"cut off", func() { must(t, c.Part(t.Context(), 2)) }, func() { must(t, c.Heal(t.Context(), 2)) }}
	roll := nodeHarm{"started again after the others", func() { must(t, node.Stop(t.Context())) }, func() {
		must(t, node.Restart(t.Context()))
		for _, other := range c.Nodes[:2] {
			must(t, other.Restart(t.Context()))
		}
	}}
	return append(slices.Repeat([]nodeHarm{kill}, 10), hang, cut, cut, cut, roll)
}

// TestACountThatComesBackWithItsNodeIsNoEvent: nodes sum up what each has counted, so that the sum falls when one is away, and jumps when it is back.
func TestACountThatComesBackWithItsNodeIsNoEvent(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.lives(t, 6*time.Second)
	c.consumeAt(t, 0)
	c.consumeAt(t, 2)
	c.work(t, 200, 0, 2)
	c.lives(t, 12*time.Second)
	if _, w := c.figures(); w.Messages.Value == 0 {
		t.Fatalf("none of %d messages is shown: %+v", c.acked, w.Messages)
	}
	c.Nodes[1].Kill() // the one that was asked: the next is
	c.lives(t, 6*time.Second)
	must(t, c.Nodes[1].Restart(t.Context()))
	for _, how := range c.nodeHarms(t) {
		t.Logf("%s: the node is %s; %d messages are acked", time.Now().Format("04:05"), how.name, c.acked)
		how.away()
		eventually(t, time.Minute, "the node is "+how.name, func() bool { return !c.runs(2) })
		c.lives(t, 6*time.Second)
		how.back()
		c.lives(t, 8*time.Second)
		if !c.runs(2) { // with Mnesia a node that was away comes back when it is started again
			must(t, c.Nodes[2].Restart(t.Context()))
		}
		eventually(t, 2*time.Minute, "all nodes run", func() bool { return c.runs(0) && c.runs(1) && c.runs(2) })
		c.lives(t, 6*time.Second)
		c.consumeAt(t, 0)
		c.consumeAt(t, 2)
		c.work(t, 50, 0, 2)
		c.lives(t, 6*time.Second)
	}
}
