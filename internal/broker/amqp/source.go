package amqp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

const (
	// firstIdle is how long a consumer waits for a message before it asks whether the queue has any; each further wait is twice
	// as long, up to maxIdle.
	firstIdle = 50 * time.Millisecond
	maxIdle   = time.Second
	// maxPatience is how long a queue that has messages ready may send none: one with a single active consumer sends to that alone.
	maxPatience = 30 * time.Second
)

// A Source takes messages from one queue over a connection of its own. It holds each until it is acked, and gives
// back what it holds when it is closed. Its methods may be called at the same time; after an error other than that of a context
// it is of no use.
type Source struct {
	link  *Link
	queue string
	tag   string
	// deliveries and cancelled are nil in a source that takes each message by itself.
	deliveries <-chan amqp.Delivery
	cancelled  <-chan string
	limit      int
	// classic is true of a queue that is known to be one.
	classic bool
	// patience is how long Next waits for a message though the queue has some ready.
	patience time.Duration

	// requests keeps requests of the channel that wait for an answer apart; mu guards what follows.
	requests sync.Mutex
	mu       sync.Mutex
	held     map[uint64]struct{}
	acks     acks
	closed   bool
}

// Source opens a queue to take messages from, held at most at once. A source that consumes is the only consumer of a classic queue
// while it is open, so a queue that has a consumer is refused with InUse; quorum queues do not know this. Of a queue
// with a single active consumer that is another, Next finds it out. A single source takes
// each message when it is asked for, past other consumers; so does one of a queue that deletes itself with its last consumer, or that nobody
// can describe.
func (m *Mover) Source(ctx context.Context, queue dedup.QueueRef, held int, single bool) (*Source, error) {
	if held < 1 {
		return nil, fmt.Errorf("take messages from queue %s: at least one must be held", broker.Quote(queue.Name))
	}
	what := fmt.Sprintf("take messages from queue %s of vhost %s", broker.Quote(queue.Name), broker.Quote(queue.Vhost))
	l, err := m.open(ctx, queue.Vhost, "move", what)
	if err != nil {
		return nil, err
	}
	s := &Source{link: l, queue: queue.Name, tag: "dedup-dashboard", limit: held, patience: maxPatience, held: map[uint64]struct{}{}}
	s.acks = newAcks(func(tag uint64, multiple bool) error { return l.Channel.Ack(tag, multiple) }, s.flush)
	stop := context.AfterFunc(ctx, l.Abort)
	defer stop()
	described, unknown := m.watch.Queue(ctx, queue)
	s.classic = unknown == nil && described.Type == "classic"
	// A queue that deletes itself goes with its last consumer, and all that is in it.
	if single || unknown != nil || described.AutoDelete {
		_, err = s.ready()
	} else {
		err = s.consume(true)
		// A queue with a single active consumer knows no exclusive one, and needs none.
		if broker.KindOf(l.explain(err)) == broker.InUse && described.Arguments["x-single-active-consumer"] == true {
			err = s.consumeAnew()
		}
	}
	if err != nil {
		err = l.Fail(broker.OrEnd(ctx, err))
		_ = l.Close()
		return nil, err
	}
	return s, nil
}

// consumeAnew consumes on another channel, after the broker has ended the first, and not exclusively.
func (s *Source) consumeAnew() error {
	if err := s.link.reopen(); err != nil {
		return err
	}
	return s.consume(false)
}

func (s *Source) consume(exclusive bool) error {
	s.cancelled = s.link.Channel.NotifyCancel(make(chan string, 1))
	if err := s.link.Channel.Qos(s.limit, 0, false); err != nil {
		return err
	}
	const autoAck, noLocal, noWait = false, false, false
	var err error
	s.deliveries, err = s.link.Channel.Consume(s.queue, s.tag, autoAck, exclusive, noLocal, noWait, nil)
	return err
}

// Next returns the next message, and io.EOF when the queue has none ready. While as many are held as may be, it waits.
func (s *Source) Next(ctx context.Context) (message.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return message.Delivery{}, err
	}
	if s.deliveries == nil {
		if err := s.awaitRoom(ctx); err != nil {
			return message.Delivery{}, err
		}
		return s.get()
	}
	empty := false
	var starving time.Time // since when the queue has messages ready and sends none
	for idle := firstIdle; ; idle = min(2*idle, maxIdle) {
		d, err := s.receive(ctx, idle)
		if !errors.Is(err, errIdle) {
			return d, err
		}
		if empty { // none came after the queue said that it has none
			return message.Delivery{}, io.EOF
		}
		if s.full() {
			starving = time.Time{}
			continue
		}
		ready, err := s.ready()
		if err != nil {
			return message.Delivery{}, s.link.Fail(err)
		}
		switch empty = ready == 0; {
		case empty:
			idle = firstIdle / 2 // a message may have been on its way to us when the queue was counted: wait once more
			starving = time.Time{}
		case starving.IsZero():
			starving = time.Now()
		case time.Since(starving) >= s.patience:
			return message.Delivery{}, s.starved(ready)
		}
	}
}

// starved says that others get what we wait for.
func (s *Source) starved(ready int) error {
	return &broker.Error{
		Kind: broker.InUse, Broker: s.link.mover.Name, Request: s.link.what,
		Text:   fmt.Sprintf("the queue has %d messages ready and has sent none for %s: it may have a single active consumer, which is another", ready, s.patience),
		Remedy: "stop the consumers of this queue",
	}
}

// errIdle says that no message came in time.
var errIdle = errors.New("no message in time")

func (s *Source) receive(ctx context.Context, idle time.Duration) (message.Delivery, error) {
	select { // without a timer where messages wait
	case d, ok := <-s.deliveries:
		return s.take(&d, ok)
	default:
	}
	timer := time.NewTimer(idle)
	defer timer.Stop()
	select {
	case d, ok := <-s.deliveries:
		return s.take(&d, ok)
	case <-ctx.Done():
		return message.Delivery{}, ctx.Err()
	case <-timer.C:
		return message.Delivery{}, errIdle
	}
}

// take notes that a delivery is held.
func (s *Source) take(d *amqp.Delivery, ok bool) (message.Delivery, error) {
	if !ok {
		return message.Delivery{}, s.link.Fail(s.cancelReason())
	}
	s.mu.Lock()
	s.held[d.DeliveryTag] = struct{}{}
	s.mu.Unlock()
	return message.Delivery{Message: fromDelivery(d), Tag: d.DeliveryTag, Left: -1}, nil
}

func (s *Source) cancelReason() error {
	select {
	case _, ok := <-s.cancelled:
		if ok {
			return &amqp.Error{Code: amqp.NotFound, Server: true, Reason: "no queue any more: the broker cancelled the consumer"}
		}
	default:
	}
	return ErrEnded
}

// awaitRoom waits while as many are held as may be. To whoever takes messages an error would be the end of the source.
func (s *Source) awaitRoom(ctx context.Context) error {
	if !s.full() {
		return nil
	}
	ticker := time.NewTicker(firstIdle)
	defer ticker.Stop()
	for s.full() {
		if s.link.Channel.IsClosed() {
			return s.link.Fail(ErrEnded)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// get takes one message by itself.
func (s *Source) get() (message.Delivery, error) {
	s.requests.Lock()
	d, ok, err := s.link.Channel.Get(s.queue, false)
	s.requests.Unlock()
	if err != nil {
		return message.Delivery{}, s.link.Fail(err)
	}
	if !ok {
		return message.Delivery{}, io.EOF
	}
	taken, err := s.take(&d, true)
	taken.Left = int64(d.MessageCount)
	return taken, err
}

func (s *Source) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) >= s.limit
}

// ready returns how many messages of the queue nobody holds. A queue that is missing closes the channel that asks, so it is one
// of its own.
func (s *Source) ready() (int, error) {
	channel, err := s.link.Another()
	if err != nil {
		return 0, err
	}
	defer channel.Close()
	q, err := inspect(channel, s.queue)
	return q.Messages, err
}

// Ack takes exactly this message out of the queue. The broker hears of it within 5 ms, together with others.
func (s *Source) Ack(tag uint64) error {
	return s.settle(tag, func() error {
		if s.deliveries == nil {
			return s.link.Channel.Ack(tag, false)
		}
		return s.acks.add(tag)
	})
}

// settle guards against a tag that is not held, for which the broker would close the channel.
func (s *Source) settle(tag uint64, send func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.held[tag]; !ok {
		return fmt.Errorf("%s: delivery %d is not held", s.link.what, tag)
	}
	if s.link.Channel.IsClosed() {
		return s.link.Fail(ErrEnded)
	}
	delete(s.held, tag)
	if err := send(); err != nil {
		return s.link.Fail(err)
	}
	return nil
}

// flush sends the acks that wait. One that fails has ended the channel, which the next call of any method finds out.
func (s *Source) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.acks.flush(); err != nil {
		s.link.mover.Log.Debug("acks could not be sent", "broker", s.link.mover.Name, "error", err)
	}
}

// Close gives back at once all that is held, what was sent ahead too, and ends the connection. Without an error the broker has read
// every ack. A second call does nothing.
func (s *Source) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	held := len(s.held)
	err := s.acks.flush()
	s.mu.Unlock()
	guard := time.AfterFunc(closeTimeout, s.link.Abort)
	defer guard.Stop()
	if err == nil {
		err = s.giveBack(held)
	}
	if err != nil {
		err = s.link.Fail(err) // it has ended before, and the broker takes everything back
	}
	_ = s.link.Close()
	return err
}

// giveBack settles what is left of the channel and ends it.
func (s *Source) giveBack(held int) error {
	if s.deliveries != nil {
		// Nothing is sent ahead any more once this is answered.
		if err := s.link.Channel.Cancel(s.tag, false); err != nil {
			return err
		}
	}
	if s.deliveries != nil || held > 0 && !s.classic {
		// One answer for all, and before the channel ends: newer quorum queues count an end of the channel, and not this,
		// against the delivery limit. Tag 0 means all.
		if err := s.link.Channel.Nack(0, true, true); err != nil {
			return err
		}
	}
	if s.link.Channel.IsClosed() { // closing it would report success
		return ErrEnded
	}
	// What was got message by message a classic queue takes back in one go when the channel ends, and one by one after a nack; see peeker.
	if err := s.link.Channel.Close(); err != nil {
		return err
	}
	if s.deliveries == nil && held > 0 {
		s.link.awaitReturn(s.queue, held)
	}
	return nil
}
