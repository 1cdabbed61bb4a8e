//go:build matrix

package amqp

import (
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// TestARunOutlivesTheNodesThatItIsConnectedTo moves out of a quorum queue while the nodes that the mover may connect to go, one after the
// other, in the three ways in which nodes go.
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
	const n, target = 8000, "orders"
	queue := declare(t, channel, "orders.dead", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(100)})
	declare(t, channel, target, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(100)})
	fill(t, channel, queue.Name, "m", n)

	var back sync.WaitGroup
	harms := []func(i int){
		func(i int) { // killed, and started again
			node := cluster.Nodes[i]
			node.Kill()
			back.Go(func() {
				if err := node.Restart(t.Context()); err != nil {
					t.Error(err)
				}
			})
		},
		func(i int) { // hung until the others have given it up
			node := cluster.Nodes[i]
			node.Pause()
			back.Go(func() {
				defer node.Resume()
				awaitGone(t, cluster.Nodes[0], node.Node())
			})
		},
		func(i int) { // cut off, and started again as a partition wants it
			must(t, cluster.Part(t.Context(), i))
			back.Go(func() {
				awaitGone(t, cluster.Nodes[0], cluster.Nodes[i].Node())
				if err := errors.Join(cluster.Heal(t.Context(), i), cluster.Nodes[i].Restart(t.Context())); err != nil {
					t.Error(err)
				}
			})
		},
	}
	to := &counted{next: func(i int) string {
		const apart = n / 5
		if k := i/apart - 1; i%apart == 0 && k >= 0 && k < len(harms) {
			back.Wait()
			t.Logf("%s: %d of %d: harm %d to node %d", time.Now().Format("05.0"), i, n, k, 1+m.at())
			harms[k](1 + m.at())
		}
		return target
	}}
	result := b.run(t, m, queue, n, to, func(c *requeue.Config) { c.MaxFruitless, c.DeliveryLimit = 50, 100 })
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

// at is the place of the node that took the last connection.
func (m *Mover) at() int { return int(m.last.Load()) }

// awaitGone waits until a node sees that another one is away.
func awaitGone(t *testing.T, by *servers.RabbitMQ, other string) {
	for deadline := time.Now().Add(90 * time.Second); ; {
		var nodes []struct {
			Name    string
			Running bool
		}
		err := by.API(t.Context(), http.MethodGet, "/api/nodes", nil, &nodes)
		for _, n := range nodes {
			if n.Name == other && !n.Running {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("%s was not seen to be away: %v", other, err)
			return
		}
		<-time.After(100 * time.Millisecond)
	}
}
