package collector_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/playground/servers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
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

// A life is what truly became of one message.
type life struct {
	fate             string
	work             time.Duration
	born, died       time.Time // of the marker; of its owner
	recognised       time.Time
	verdict          dedup.Verdict
	reasons          []string
	wronglyDead, hit int
}

// A morgue is a real broker and store, consumers whose fates are known, and the collector that judges them.
type morgue struct {
	t         *testing.T
	rabbit    *servers.RabbitMQ
	redis     *servers.Redis
	collector *collector.Collector
	publisher *amqp.Channel

	mu    sync.Mutex
	lives map[string]*life // by message id
}

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
	m := newMorgue(t)
	began := time.Now()
	since := func(d time.Duration) func() bool { return func() bool { return time.Since(began) > d } }

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
	eventually(t, 10*time.Second, "the doomed have begun", func() bool { return m.begun(90) })
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
	eventually(t, 10*time.Second, "everybody has begun", func() bool { return m.begun(200) })

	stop := m.watch()
	eventually(t, 10*time.Second, "they have worked for a while", since(4*time.Second))
	for _, c := range doomed {
		c.kill()
	}
	// What a deployment does: the old ones leave when they are done, and new ones take their place after a while.
	must(t, veterans["rolling"].channel.Cancel("crew", false))
	eventually(t, 10*time.Second, "the supervisor has waited", since(8*time.Second))
	m.hire("rolling", 100)
	m.hire("crashed", 100)
	eventually(t, 10*time.Second, "the messages of the dead are back", func() bool {
		q, err := m.publisher.QueuePurge("purged", false)
		return err == nil && q > 0
	})
	veterans["rolling"].at.Wait()
	must(t, veterans["rolling"].conn.Close())
	eventually(t, 2*longestWork+20*time.Second, "twice max_processing has passed", since(2*longestWork+6*time.Second))
	stop()
	m.judge()
}

func newMorgue(t *testing.T) *morgue {
	t.Helper()
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	m := &morgue{t: t, lives: map[string]*life{}}
	var err error
	m.rabbit, err = servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(t.TempDir(), "rabbitmq")})
	must(t, err)
	t.Cleanup(m.rabbit.Kill)
	m.redis, err = servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(t.TempDir(), "redis")})
	must(t, err)
	t.Cleanup(m.redis.Kill)
	user, password := m.rabbit.Admin()
	client, err := broker.New(broker.Config{Name: "main", ManagementURL: m.rabbit.ManagementURL(), Username: user, Password: secret.New(password)})
	must(t, err)
	t.Cleanup(client.Close)
	history, err := series.Open(series.Config{Dir: filepath.Join(t.TempDir(), "series"), Retention: 24 * time.Hour, MaxBytes: 1 << 28, Interval: 2 * time.Second}, log)
	must(t, err)
	t.Cleanup(func() { must(t, history.Close()) })

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	deps := collector.Deps{Brokers: []collector.Broker{client}, Series: history, Log: log}
	for i, queue := range queuesOfTheDead {
		m.wire(&deps, running, queue, i)
	}
	m.collector, err = collector.New(collector.Config{Interval: 2 * time.Second}, deps)
	must(t, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = m.collector.Run(running) }()
	t.Cleanup(func() { stop(); <-done })
	conn, err := amqp.Dial(m.rabbit.AMQPURL(user, password))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	m.publisher, err = conn.Channel()
	must(t, err)
	eventually(t, 30*time.Second, "every source was tried", func() bool { return m.collector.Tried() && m.collector.Snapshot().Round > 3 })
	return m
}

// wire declares a queue with its dead-letter queue and opens its store.
func (m *morgue) wire(deps *collector.Deps, running context.Context, queue string, db int) {
	m.t.Helper()
	must(m.t, m.rabbit.API(m.t.Context(), http.MethodPut, "/api/queues/%2F/"+queue+".dlq", map[string]any{"durable": true}, nil))
	must(m.t, m.rabbit.API(m.t.Context(), http.MethodPut, "/api/queues/%2F/"+queue, map[string]any{"durable": true, "arguments": map[string]any{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue + ".dlq"}}, nil))
	cfg, ok := markers.Preset("redis-text-status")
	if !ok {
		m.t.Fatal("no preset redis-text-status")
	}
	cfg.Name, cfg.Redis.URL = queue, secret.New(m.redis.URL()[:len(m.redis.URL())-1]+string(rune('0'+db)))
	cfg.Sweep.Every = time.Second
	store, err := markers.Open(cfg, slog.New(slog.DiscardHandler))
	must(m.t, err)
	swept := make(chan struct{})
	go func() { defer close(swept); store.Run(running) }()
	m.t.Cleanup(func() { <-swept; must(m.t, store.Close()) })
	deps.Stores = append(deps.Stores, store)
	deps.Pipelines = append(deps.Pipelines, dedup.Pipeline{Name: queue, Broker: "main", Vhost: "/", Queues: []string{queue}, Store: queue,
		DiscoverDeadLetters: true, MaxProcessing: longestWork, Limits: dedup.DefaultLimits()})
}

// publish sends messages of one fate, whose work is spread over a span.
func (m *morgue) publish(queue, fate string, n int, from, to time.Duration) {
	m.t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s-%s-%d", queue, strings.ReplaceAll(fate, " ", "-"), i)
		work := from
		if n > 1 {
			work += (to - from) * time.Duration(i) / time.Duration(n-1)
		}
		m.mu.Lock()
		m.lives[id] = &life{fate: fate, work: work}
		m.mu.Unlock()
		must(m.t, m.publisher.PublishWithContext(m.t.Context(), "", queue, false, false, amqp.Publishing{MessageId: id, DeliveryMode: amqp.Persistent}))
	}
}

func (m *morgue) begun(want int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, l := range m.lives {
		if !l.born.IsZero() {
			n++
		}
	}
	return n >= want
}

// hire starts one consuming process that holds up to a number of deliveries.
func (m *morgue) hire(queue string, prefetch int) *crew {
	m.t.Helper()
	options, err := redis.ParseURL(m.redis.URL())
	must(m.t, err)
	options.DB = slices.Index(queuesOfTheDead, queue)
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

// kill ends the process as kill -9 does: nothing of what it holds is finished, and the broker sees a cut connection.
func (c *crew) kill() {
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
	l.born = time.Now()
	fate, work := l.fate, l.work
	c.m.mu.Unlock()
	if fate == killed || fate == unproven || fate == purged {
		work = time.Hour
	}
	timer := time.NewTimer(work)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
	case <-timer.C:
		switch fate {
		case lost:
			_ = d.Ack(false)
		case rejected:
			_ = d.Reject(false)
		default:
			c.store.Set(background, key, "done", 24*time.Hour)
			_ = d.Ack(false)
		}
	}
	c.m.mu.Lock()
	l.died = time.Now()
	c.m.mu.Unlock()
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
		_ = d.Nack(false, true)
	}
}

// watch looks at every snapshot until the returned function is called.
func (m *morgue) watch() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		var seen uint64
		for {
			if s := m.collector.Snapshot(); s.Round != seen {
				seen = s.Round
				m.look(s)
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(quit); <-ended }
}

func (m *morgue) look(s *dedup.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, st := range s.Stores {
		if st.Stats.Pass == nil {
			continue
		}
		for _, marker := range st.Stats.Pass.OldestProcessing {
			l := m.lives[marker.ID]
			verdict, reasons := dedup.Judge(marker, st.Evidence, st.Scheme)
			l.verdict, l.reasons, l.hit = verdict, reasons, l.hit+1
			if verdict != dedup.ProbablyDead && verdict != dedup.Orphan {
				continue
			}
			// The pass saw the marker when it began or later: whoever was at work then was called dead in his life.
			if l.fate == alive || l.fate == beyond || l.fate == finished || l.died.IsZero() || l.died.After(st.Stats.Pass.Started) {
				l.wronglyDead++
				m.t.Errorf("%s (%s, working since %s) is %s at %s because %q", marker.ID, l.fate, l.born, verdict, s.At, reasons)
			}
			if l.recognised.IsZero() {
				l.recognised = s.At
			}
		}
	}
}

// judge compares the verdicts with the truth and prints the table.
func (m *morgue) judge() {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-34s %4s %9s %10s %6s  %s\n", "truth", "n", "as dead", "in 2 x max", "wrong", "median of the recognition after the birth; last verdict")
	dead, known, wrong, all := 0, 0, 0, 0
	for _, fate := range []string{alive, beyond, killed, unproven, purged, lost, rejected, finished} {
		var n, recognised, inTime, false_ int
		var took []time.Duration
		last := map[dedup.Verdict]int{}
		var example []string
		for _, l := range m.lives {
			if l.fate != fate {
				continue
			}
			n++
			false_ += l.wronglyDead
			last[l.verdict]++
			example = l.reasons
			if l.recognised.IsZero() {
				continue
			}
			recognised++
			took = append(took, l.recognised.Sub(l.born))
			if l.recognised.Sub(l.born) <= 2*longestWork {
				inTime++
			}
		}
		all, wrong = all+n, wrong+false_
		median := "-"
		if slices.Sort(took); len(took) > 0 {
			median = fmt.Sprintf("%.1f s, slowest %.1f s", took[len(took)/2].Seconds(), took[len(took)-1].Seconds())
		}
		fmt.Fprintf(&out, "%-34s %4d %9d %10d %6d  %s; %v\n%38s %s\n", fate, n, recognised, inTime, false_, median, last, "", strings.Join(example, "; "))
		if fate != alive && fate != beyond && fate != finished {
			dead, known = dead+n, known+inTime
		}
	}
	m.t.Logf("%sof %d messages %d died; %d of them (%.1f %%) were recognised within %s; the living were called dead %d times",
		out.String(), all, dead, known, 100*float64(known)/float64(dead), 2*longestWork, wrong)
	if all != 200 || float64(known) < 0.9*float64(dead) || wrong > 0 {
		for _, st := range m.collector.Snapshot().Stores {
			m.t.Logf("evidence of %s: %+v", st.Name, st.Evidence)
		}
		m.t.Errorf("want 200 messages, 90 %% of the dead recognised, and none of the living called dead")
	}
}
