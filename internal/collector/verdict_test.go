package collector_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

// longestWork is max_processing of the pipelines in this test: longer than the 11 s by which the broker can lag.
const longestWork = 15 * time.Second

// The fates of the messages of this test.
const (
	alive    = "slow but alive"
	beyond   = "alive beyond max_processing"
	killed   = "killed in mid-work"
	lost     = "acked without its work"
	purged   = "killed, then purged"
	rejected = "rejected to the dead letters"
	finished = "done and acked"
	unproven = "killed beside others that go on"
)

// A crew is one consuming process: a connection, which a kill cuts without a word.
type crew struct {
	m       *morgue
	queue   string
	store   *redis.Client
	conn    *amqp.Connection
	channel *amqp.Channel
	socket  net.Conn
	ctx     context.Context
	cancel  context.CancelFunc
	at      sync.WaitGroup
}

// queuesOfTheDead are the queues of the test: each is a pipeline with a store of its own, the Redis database of its index.
var queuesOfTheDead = []string{"rolling", "beyond", "crashed", "stopped", "lost", "purged", "rejected"}

func TestVerdictsAgreeWithWhatBecameOfTheOwners(t *testing.T) {
	t.Parallel()
	m := newMorgue(t)

	// Those who will die take exactly as many messages as they may hold, the others the rest.
	doomed := map[string]*crew{}
	for queue, n := range map[string]int{"rolling": 20, "beyond": 6, "crashed": 30, "stopped": 20, "purged": 14} {
		fate := killed
		switch queue {
		case "beyond":
			fate = unproven
		case "purged":
			fate = purged
		}
		doomed[queue] = m.hire(queue, n)
		m.publish(queue, fate, n, 0, 0)
	}
	eventually(t, time.Minute, "the doomed have begun", func() bool { return m.begun(90) })
	veterans := map[string]*crew{}
	for _, queue := range []string{"rolling", "beyond", "lost", "rejected"} {
		veterans[queue] = m.hire(queue, 100)
	}
	m.publish("rolling", alive, 30, 2*time.Second, 14*time.Second)
	m.publish("beyond", alive, 10, 2*time.Second, 14*time.Second)
	m.publish("beyond", beyond, 6, 18*time.Second, 24*time.Second)
	m.publish("lost", alive, 10, 2*time.Second, 14*time.Second)
	m.publish("lost", lost, 30, time.Second, 3*time.Second)
	m.publish("lost", finished, 20, 0, time.Second)
	m.publish("rejected", rejected, 4, time.Second, time.Second)
	eventually(t, time.Minute, "everybody has begun", func() bool { return m.begun(200) })
	m.copies("beyond", beyond, 3) // these go round on markers whose owners are at work
	began := time.Now()           // and not before, however long it took to begin
	since := func(d time.Duration) func() bool { return func() bool { return time.Since(began) > d } }

	stop := m.watch()
	eventually(t, 2*time.Minute, "they have worked for a while", since(4*time.Second))
	for _, c := range doomed {
		c.kill()
	}
	// What a deployment does: the old ones leave when they are done, and new ones take their place after a while.
	must(t, veterans["rolling"].channel.Cancel("crew", false))
	eventually(t, 2*time.Minute, "the supervisor has waited", since(8*time.Second))
	m.hire("rolling", 100)
	m.hire("crashed", 100)
	eventually(t, time.Minute, "the messages of the dead are back", func() bool {
		q, err := m.publisher.QueuePurge("purged", false)
		return err == nil && q > 0
	})
	veterans["rolling"].at.Wait()
	must(t, veterans["rolling"].conn.Close())
	eventually(t, 2*longestWork+20*time.Second, "twice max_processing has passed", since(2*longestWork+6*time.Second))
	eventually(t, 3*longestWork+time.Minute, "every dead one is recognised, or its time is over", m.settled)
	stop()
	m.judge()
}

// hire starts one consuming process that holds up to a number of deliveries.
func (m *morgue) hire(queue string, prefetch int) *crew {
	m.t.Helper()
	options, err := redis.ParseURL(m.redis.URL())
	must(m.t, err)
	options.DB = slices.Index(queuesOfTheDead, queue)
	// A command that was given up, or sent twice, would change the fate of its message.
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = time.Minute, time.Minute, time.Minute, time.Minute
	options.MaxRetries = -1
	c := &crew{m: m, queue: queue, store: redis.NewClient(options)}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(m.t.Context()))
	user, password := m.rabbit.Admin()
	c.conn, err = amqp.DialConfig(m.rabbit.AMQPURL(user, password), amqp.Config{Dial: func(network, addr string) (net.Conn, error) {
		var err error
		c.socket, err = amqp.DefaultDial(10*time.Second)(network, addr)
		return c.socket, err
	}})
	must(m.t, err)
	c.channel, err = c.conn.Channel()
	must(m.t, err)
	must(m.t, c.channel.Qos(prefetch, 0, false))
	deliveries, err := c.channel.Consume(queue, "crew", false, false, false, false, nil)
	must(m.t, err)
	c.at.Go(func() {
		for d := range deliveries {
			c.at.Go(func() { c.handle(d) })
		}
	})
	m.t.Cleanup(func() { c.kill(); c.at.Wait(); _ = c.store.Close() })
	return c
}

// kill ends the process as kill -9 does: nothing of what it holds is finished, and the broker sees a cut connection. All its work is
// dead before anybody can see that it is.
func (c *crew) kill() {
	c.m.mu.Lock()
	for _, l := range c.m.lives {
		if l.owner == c {
			l.die()
		}
	}
	c.m.mu.Unlock()
	c.cancel()
	_ = c.socket.Close()
}

// handle is an idempotent consumer of the scheme redis-text-status with the faults of the message's fate.
func (c *crew) handle(d amqp.Delivery) {
	key, background := "msg:"+d.MessageId, context.WithoutCancel(c.ctx)
	fresh, err := c.store.SetNX(background, key, "processing", 300*time.Second).Result()
	if err != nil {
		return
	}
	if !fresh {
		c.giveBack(d, key)
		return
	}
	c.m.mu.Lock()
	l := c.m.lives[d.MessageId]
	l.born, l.owner = time.Now(), c
	fate, work := l.fate, l.work
	c.m.mu.Unlock()
	if fate == killed || fate == unproven || fate == purged {
		work = time.Hour
	}
	timer := time.NewTimer(work)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
		c.m.bury(l)
	case <-timer.C:
		c.settle(d, key, l)
	}
}

// settle ends the work on a message as its fate wants. Who settles without the work is dead before the broker knows.
func (c *crew) settle(d amqp.Delivery, key string, l *life) {
	if dies(l.fate) {
		c.m.bury(l)
	}
	switch l.fate {
	case lost:
		_ = d.Ack(false)
	case rejected:
		_ = d.Reject(false)
	default:
		if err := c.store.Set(context.WithoutCancel(c.ctx), key, "done", 24*time.Hour).Err(); err != nil {
			c.m.t.Errorf("%s was not marked as done: %v", d.MessageId, err)
			return
		}
		_ = d.Ack(false)
	}
}

// giveBack acks what is done, and otherwise lets the message loop.
func (c *crew) giveBack(d amqp.Delivery, key string) {
	if v, err := c.store.Get(context.WithoutCancel(c.ctx), key).Result(); err == nil && v == "done" {
		_ = d.Ack(false)
		return
	}
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
	case <-timer.C:
		c.m.mu.Lock()
		l := c.m.lives[d.MessageId]
		l.returned = append(l.returned, time.Now())
		c.m.mu.Unlock()
		_ = d.Nack(false, true)
	}
}
