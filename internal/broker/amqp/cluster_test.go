//go:build matrix

package amqp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// TestARunOutlivesTheNodesThatItIsConnectedTo moves out of a quorum queue while the nodes that the mover is connected to go, one after the
// other, in the ways in which nodes go.
func TestARunOutlivesTheNodesThatItIsConnectedTo(t *testing.T) {
	t.Parallel()
	cluster := serverstest.RabbitCluster(t, servers.RabbitMQOptions{ErlangArgs: "-kernel net_ticktime 4", Config: []string{"cluster_partition_handling = autoheal"}}, 3)
	b := withAccounts(t.Context(), t, cluster.Nodes[0])
	m := b.open(t, func(c *broker.Config) {
		c.ManagementURL, c.Act.AMQPURL = "", ""
		for _, node := range []*servers.RabbitMQ{cluster.Nodes[1], cluster.Nodes[2], cluster.Nodes[0]} {
			c.ManagementURLs = append(c.ManagementURLs, node.ManagementURL())
			if node != cluster.Nodes[0] { // which this test looks at
				c.Act.AMQPURLs = append(c.Act.AMQPURLs, "amqp://"+node.AMQPAddr()+"/")
			}
		}
	})
	m.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	channel := b.admin(t)
	const target = "orders"
	harms := nodeHarms(t, cluster)
	apart := 1000
	n := (len(harms) + 2) * apart
	queue := declare(t, channel, "orders.dead", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(200)})
	declare(t, channel, target, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(200)})
	fill(t, channel, queue.Name, "m", n)

	var back sync.WaitGroup
	to := &counted{next: func(i int) string {
		if k := i/apart - 1; i%apart == 0 && k >= 0 && k < len(harms) {
			back.Wait()
			node := 1 + m.at()
			t.Logf("%s: %d of %d: node %d is %s", time.Now().Format("04:05.0"), i, n, node, harms[k].name)
			restore := harms[k].do(node)
			back.Go(func() {
				if err := restore(); err != nil {
					t.Error(err)
				}
			})
		}
		return target
	}}
	result := b.run(t, m, queue, n, to, func(c *requeue.Config) { c.MaxFruitless, c.DeliveryLimit = 50, 200 })
	back.Wait()
	if result.Stop != requeue.StopLimit && result.Stop != requeue.StopEmpty || result.Reconnects == 0 {
		t.Errorf("it stopped: %+v", result)
	}
	channel = b.admin(t) // the node that it was at may have been started again to heal the cluster
	eventually(t, "nobody holds a message", func() bool {
		var q struct {
			Unacked *int `json:"messages_unacknowledged"`
		}
		err := b.rabbit.API(t.Context(), http.MethodGet, "/api/queues/%2F/"+queue.Name, nil, &q)
		return err == nil && q.Unacked != nil && *q.Unacked == 0
	})
	// A copy whose ack was lost with its node, and that came back late, counts as moved: as many of the others are left.
	if extra := conserved(t, channel, "m", n, queue.Name, target); extra > 8*result.Reconnects {
		t.Errorf("%d copies after %d lost connections", extra, result.Reconnects)
	}
}

// A nodeHarm takes a node away, and returns what brings it back.
type nodeHarm struct {
	name string
	do   func(node int) (restore func() error)
}

// nodeHarms are ten kills, one node that hangs, three partitions and a rolling restart.
func nodeHarms(t *testing.T, cluster *servers.RabbitCluster) []nodeHarm {
	restart := func(node int) error { return cluster.Nodes[node].Restart(t.Context()) }
	kill := nodeHarm{"killed, and started again", func(node int) func() error {
		cluster.Nodes[node].Kill()
		return func() error { return restart(node) }
	}}
	hang := nodeHarm{"hung until the others have given it up", func(node int) func() error {
		cluster.Nodes[node].Pause()
		return func() error {
			defer cluster.Nodes[node].Resume()
			return awaitGone(t, cluster.Nodes[0], cluster.Nodes[node].Node())
		}
	}}
	cut := nodeHarm{"cut off, and started again as a partition wants it", func(node int) func() error {
		must(t, cluster.Part(t.Context(), node))
		return func() error {
			gone := awaitGone(t, cluster.Nodes[0], cluster.Nodes[node].Node())
			healed := cluster.Heal(t.Context(), node)
			cluster.Nodes[node].Kill() // it may wait for the others for as long as it is let
			return errors.Join(gone, healed, restart(node))
		}
	}}
	roll := nodeHarm{"the one that the mover is at; all are started again, one after the other", func(int) func() error {
		return func() error { return errors.Join(restart(1), restart(2), restart(0)) }
	}}
	return append(slices.Repeat([]nodeHarm{kill}, 10), hang, cut, cut, cut, roll)
}

// at is the place of the node that took the last connection.
func (m *Mover) at() int { return int(m.last.Load()) }

// awaitGone waits until a node sees that another one is away.
func awaitGone(t *testing.T, by *servers.RabbitMQ, other string) error {
	for deadline := time.Now().Add(90 * time.Second); ; {
		var nodes []struct {
			Name    string
			Running bool
		}
		err := by.API(t.Context(), http.MethodGet, "/api/nodes", nil, &nodes)
		for _, n := range nodes {
			if n.Name == other && !n.Running {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%s was not seen to be away", other), err)
		}
		<-time.After(100 * time.Millisecond)
	}
}
