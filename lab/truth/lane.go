package truth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
)

// A lane is one case under way: its queue, its store, its producer and its consumers.
type lane struct {
	c        Case
	seed     uint64
	messages int
	over     time.Duration
	bed      *bed
	tally    *tally
	// connection is that of the case's producer and consumers.
	connection *amqp.Connection
	stop       context.CancelFunc
	running    sync.WaitGroup
	mu         sync.Mutex
	failures   []error
	expected   Expected
	// rest is when everything was worked off; zero before that.
	rest    time.Time
	witness witness
}

// queue is a name of the case and the seed: nothing that the broker still knows of an earlier one belongs to it.
func (l *lane) queue() string { return l.c.Name + "." + strconv.FormatUint(l.seed, 10) }

func (l *lane) pipeline() dedup.Pipeline {
	store, from := l.c.Name, "message_id"
	if l.c.Companion() {
		store = l.c.StoreOf
	}
	if l.c.Knobs.NoID {
		from = "md5(body)"
	}
	return dedup.Pipeline{Name: l.c.Name, Broker: "main", Vhost: "/", Queues: []string{l.queue()}, Store: store, ReportedStore: store,
		DiscoverDeadLetters: true, IDFrom: from, MaxProcessing: 30 * time.Second, Limits: dedup.DefaultLimits()}
}

// connect opens the case's connection and makes its queues.
func (l *lane) connect(url string) error {
	connection, err := amqp.Dial(url)
	if err != nil {
		return fmt.Errorf("case %s: connect: %w", l.c.Name, err)
	}
	l.connection = connection
	channel, err := connection.Channel()
	if err != nil {
		return fmt.Errorf("case %s: open a channel: %w", l.c.Name, err)
	}
	defer channel.Close()
	dead := l.queue() + ".dead"
	for name, args := range map[string]amqp.Table{dead: nil, l.queue(): {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}} {
		if _, err := channel.QueueDeclare(name, true, false, false, false, args); err != nil {
			return fmt.Errorf("case %s: declare queue %s: %w", l.c.Name, name, err)
		}
	}
	return nil
}

// start lets the producer and the consumers work until stop is called.
func (l *lane) start(ctx context.Context) {
	ctx, l.stop = context.WithCancel(ctx)
	f := fate{l.seed, l.c}
	work := l.bed.consumer(worker{f, l.tally})
	l.expected = Expect(l.c, l.seed, l.messages)
	for range l.c.Knobs.Channels {
		c := &consumer{queue: l.queue(), prefetch: l.c.Knobs.Prefetch, connection: l.connection, scheme: work, fate: f, tally: l.tally,
			report: l.bed.report}
		l.running.Go(func() { l.note(c.run(ctx)) })
	}
	p := &producer{queue: l.queue(), connection: l.connection, fate: f, tally: l.tally, messages: l.messages, over: l.over}
	l.running.Go(func() { l.note(p.run(ctx)) })
	l.running.Go(func() { l.note(ways(ctx, l.connection, l.queue(), l.tally)) })
}

// note keeps what went wrong with a producer or consumer; that it was told to stop is nothing wrong.
func (l *lane) note(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, fmt.Errorf("case %s: %w", l.c.Name, err))
}

// failed returns what went wrong so far.
func (l *lane) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.failures...)
}

// drained reports whether nothing is left in the queue but the messages that loop for ever.
func (l *lane) drained() bool {
	n := l.tally.read()
	return n.Published >= l.expected.Published && n.Published-n.Settled() <= int64(l.c.Knobs.Endless)
}

// close ends the case, deletes its queues and returns what went wrong.
func (l *lane) close() error {
	if l.stop != nil {
		l.stop()
	}
	l.running.Wait()
	errs := []error{l.failed()}
	if l.connection != nil {
		errs = append(errs, l.deleteQueues(), l.connection.Close())
	}
	if l.bed != nil && l.bed.close != nil {
		errs = append(errs, l.bed.close())
	}
	return errors.Join(errs...)
}

func (l *lane) deleteQueues() error {
	channel, err := l.connection.Channel()
	if err != nil {
		return fmt.Errorf("case %s: open a channel: %w", l.c.Name, err)
	}
	defer channel.Close()
	for _, name := range []string{l.queue(), l.queue() + ".dead"} {
		if _, err := channel.QueueDelete(name, false, false, false); err != nil {
			return fmt.Errorf("case %s: delete queue %s: %w", l.c.Name, name, err)
		}
	}
	return nil
}
