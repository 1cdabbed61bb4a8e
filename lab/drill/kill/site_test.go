package kill

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

const (
	deadQueue      = "shop.dead"
	watcher        = "watcher"
	mover          = "mover"
	watchPassword  = "a-password-that-may-watch"
	movingPassword = "a-password-that-may-move"
)

// sourceQueues are the queues that messages die in, and that they go back to.
func sourceQueues() []string { return []string{"orders", "payments", "stock"} }

// A site is a private broker with queues whose rejected messages go to one dead-letter queue.
type site struct {
	t       *testing.T
	broker  *servers.RabbitMQ
	channel *amqp.Channel
}

func newSite(t *testing.T) *site {
	t.Helper()
	serverstest.Needed(t)
	ctx := t.Context()
	broker, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{
		Dir: filepath.Join(t.TempDir(), "broker"), StatisticsInterval: time.Second,
	})
	must(t, err)
	s := &site{t: t, broker: broker}
	t.Cleanup(func() { _ = broker.Stop(context.Background()) })
	must(t, broker.PutUser(ctx, watcher, watchPassword, "monitoring"))
	must(t, broker.PutUser(ctx, mover, movingPassword, ""))
	must(t, broker.PutPermissions(ctx, "/", watcher, servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}))
	must(t, broker.PutPermissions(ctx, "/", mover, servers.Permissions{
		Configure: `^dedup\.parking\.`, Write: `^(amq\.default|dedup\.parking\..*)$`, Read: `^(` + deadQueue + `|dedup\.parking\..*)$`,
	}))
	s.connect()
	s.declare(deadQueue, nil)
	for _, queue := range sourceQueues() {
		s.declare(queue, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": deadQueue})
	}
	return s
}

// connect opens the connection that looks at queues; needed again after the broker was killed.
func (s *site) connect() {
	s.t.Helper()
	connection, err := amqp.Dial(s.broker.AMQPURL(s.broker.Admin()))
	must(s.t, err)
	s.t.Cleanup(func() { _ = connection.Close() })
	s.channel, err = connection.Channel()
	must(s.t, err)
}

func (s *site) declare(queue string, arguments amqp.Table) {
	s.t.Helper()
	_, err := s.channel.QueueDeclare(queue, true, false, false, false, arguments)
	must(s.t, err)
}

// depth returns how many messages of a queue nobody holds.
func (s *site) depth(queue string) int {
	s.t.Helper()
	q, err := s.channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	must(s.t, err)
	return q.Messages
}

// counted returns how many messages the management API says that nobody holds, some seconds late.
func (s *site) counted(queue string) int {
	s.t.Helper()
	var told struct {
		Ready int `json:"messages_ready"`
	}
	must(s.t, s.broker.API(s.t.Context(), http.MethodGet, "/api/queues/%2F/"+queue, nil, &told))
	return told.Ready
}

// arrived returns how many messages are in the source queues, copies too.
func (s *site) arrived() int {
	s.t.Helper()
	n := 0
	for _, queue := range sourceQueues() {
		n += s.depth(queue)
	}
	return n
}

// empty takes out what an earlier test has left.
func (s *site) empty() {
	s.t.Helper()
	for _, queue := range append(sourceQueues(), deadQueue) {
		_, err := s.channel.QueuePurge(queue, false)
		must(s.t, err)
	}
}

// seed publishes a lot and rejects every message of it, so that all lie in the dead-letter queue with the death that the broker noted.
func (s *site) seed(name string, size int) lot {
	s.t.Helper()
	user, _ := s.broker.Admin()
	l := lot{name: name, size: size, sources: sourceQueues(), user: user}
	connection, err := amqp.Dial(s.broker.AMQPURL(s.broker.Admin()))
	must(s.t, err)
	defer connection.Close()
	s.empty()
	s.publish(connection, l)
	s.reject(connection, l)
	s.await(3*time.Minute, "the dead letters", func() bool { return s.depth(deadQueue) == size && s.counted(deadQueue) == size })
	return l
}

func (s *site) publish(connection *amqp.Connection, l lot) {
	s.t.Helper()
	channel, err := connection.Channel()
	must(s.t, err)
	must(s.t, channel.Confirm(false))
	var pending []*amqp.DeferredConfirmation
	for i := range l.size {
		confirm, err := channel.PublishWithDeferredConfirm("", l.source(i), true, false, l.message(i))
		must(s.t, err)
		if pending = append(pending, confirm); len(pending) == 1000 || i == l.size-1 {
			for _, confirm := range pending {
				if !confirm.Wait() {
					s.t.Fatal("the broker did not take a message of the lot")
				}
			}
			pending = pending[:0]
		}
	}
}

// reject takes the messages of all queues in turn, so that they die in turn too.
func (s *site) reject(connection *amqp.Connection, l lot) {
	s.t.Helper()
	channel, err := connection.Channel()
	must(s.t, err)
	must(s.t, channel.Qos(16, 0, false))
	var queues []<-chan amqp.Delivery
	for _, queue := range l.sources {
		deliveries, err := channel.Consume(queue, queue, false, false, false, false, nil)
		must(s.t, err)
		queues = append(queues, deliveries)
	}
	for i := range l.size {
		select {
		case d := <-queues[i%len(queues)]:
			must(s.t, d.Reject(false))
		case <-time.After(90 * time.Second):
			s.t.Fatalf("message %d of the lot did not come", i)
		}
	}
}

// takesTurns looks at a lot in the order of the dead-letter queue: neighbours must have different targets.
func (s *site) takesTurns(t *testing.T) {
	s = s.in(t)
	const looked = 300
	l := s.seed("turns", looked)
	turns, last := 0, ""
	for range looked {
		d, ok, err := s.channel.Get(deadQueue, true)
		must(t, err)
		i, known := l.index(d.MessageId)
		if !ok || !known {
			t.Fatalf("message %q is in the dead-letter queue, and should not be", d.MessageId)
		}
		if l.source(i) != last {
			turns++
		}
		last = l.source(i)
	}
	if turns < looked/10 { // a run of ten is far below a window
		t.Errorf("among %d neighbours in the dead-letter queue the target changes %d times: a requeue that acks too much would pass unseen", looked, turns)
	}
}

// settled waits until nothing moves any more, and returns where the messages are. A killed client leaves behind what the broker has not
// read yet, and what it has not taken back yet.
func (s *site) settled() (dead, arrived int) {
	s.t.Helper()
	dead, arrived = -1, -1
	same := 0
	s.await(3*time.Minute, "the queues to settle", func() bool {
		q, err := s.channel.QueueDeclarePassive(deadQueue, true, false, false, false, nil)
		must(s.t, err)
		n := s.arrived()
		if q.Consumers > 0 || q.Messages != dead || n != arrived {
			same = 0
		}
		dead, arrived = q.Messages, n
		same++
		return same == 12
	})
	return dead, arrived
}

// audit takes all messages out of all queues and closes the ledger over them.
func (s *site) audit(l lot) balance {
	s.t.Helper()
	g := newLedger(l, deadQueue)
	connection, err := amqp.Dial(s.broker.AMQPURL(s.broker.Admin()))
	must(s.t, err)
	defer connection.Close()
	for _, queue := range append(sourceQueues(), deadQueue) {
		s.drain(connection, queue, g)
	}
	if *ledgers != "" {
		must(s.t, g.write(*ledgers))
	}
	return g.close()
}

func (s *site) drain(connection *amqp.Connection, queue string, g *ledger) {
	s.t.Helper()
	channel, err := connection.Channel()
	must(s.t, err)
	defer channel.Close()
	left := s.depth(queue)
	deliveries, err := channel.Consume(queue, "ledger", true, false, false, false, nil)
	must(s.t, err)
	for ; left > 0; left-- {
		select {
		case d := <-deliveries:
			g.find(queue, &d)
		case <-time.After(90 * time.Second):
			s.t.Fatalf("%d messages of %s did not come", left, queue)
		}
	}
	must(s.t, channel.Cancel("ledger", false))
	for d := range deliveries { // what nobody had counted
		g.find(queue, &d)
	}
}

// await waits until a condition holds.
func (s *site) await(patience time.Duration, what string, holds func() bool) {
	s.t.Helper()
	awaitEvery(s.t, 20*time.Millisecond, patience, what, holds)
}

func awaitEvery(t *testing.T, pause, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// in returns the site for a subtest.
func (s *site) in(t *testing.T) *site {
	inner := *s
	inner.t = t
	return &inner
}
