package truth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/lab/schemes"
)

// backoff is how long a consumer holds a delivery that it returns: without it one looping message would take all of the machine.
const backoff = 100 * time.Millisecond

// errClosesChannel ends a channel without settling what it holds, as a crash or a lost connection does.
var errClosesChannel = errors.New("the channel is closed, as the knobs of the case ask")

// A consumer works on one queue, one message at a time, on one channel after the other.
type consumer struct {
	queue      string
	prefetch   int
	connection *amqp.Connection
	scheme     schemes.Consumer
	fate       fate
	tally      *tally
	// report counts an outcome for the dashboard; it may be nil.
	report func(ctx context.Context, outcome string) error
}

// An arrival is a delivery with the time at which it reached the consumer.
type arrival struct {
	amqp.Delivery
	at time.Time
}

func (a arrival) id() string {
	if a.MessageId != "" {
		return a.MessageId
	}
	return bodyID(a.Body)
}

// copy numbers the messages that the producer sent with one id.
func (a arrival) copy() int64 {
	n, _ := a.Headers[copyHeader].(int64)
	return n
}

// run consumes until ctx ends. An error is none that the knobs ask for.
func (c *consumer) run(ctx context.Context) error {
	for {
		err := c.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errClosesChannel) {
			return fmt.Errorf("consumer of %s: %w", c.queue, err)
		}
	}
}

func (c *consumer) session(ctx context.Context) error {
	channel, err := c.connection.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	// What is held back is returned by the channel's end.
	ctx, cancel := context.WithCancel(ctx)
	var returning sync.WaitGroup
	defer channel.Close()
	defer func() { cancel(); returning.Wait() }() // nothing may be sent on a channel that is being closed
	if err := channel.Qos(c.prefetch, 0, false); err != nil {
		return fmt.Errorf("set the prefetch: %w", err)
	}
	deliveries, err := channel.Consume(c.queue, "", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	arrivals := make(chan arrival, c.prefetch+1)
	go func() {
		defer close(arrivals)
		for d := range deliveries {
			arrivals <- arrival{d, time.Now()}
		}
	}()
	defer func() { go c.abandon(arrivals) }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a, ok := <-arrivals:
			if !ok {
				return errors.New("the broker closed the channel")
			}
			if err := c.handle(ctx, a, &returning); err != nil {
				return err
			}
		}
	}
}

// abandon takes what a closed channel had still received, so that whoever stamps arrivals can end.
func (c *consumer) abandon(arrivals <-chan arrival) {
	for a := range arrivals {
		c.tally.update(func(n *Counts) { n.Deliveries++; n.Died++ })
		c.tally.ended(time.Since(a.at), false)
	}
}

func (c *consumer) handle(ctx context.Context, a arrival, returning *sync.WaitGroup) error {
	id := a.id()
	c.tally.update(func(n *Counts) { n.Deliveries++ })
	var watch stopwatch
	began := time.Now()
	settlement, ran, err := c.scheme.Handle(watch.within(ctx), id)
	handled := time.Since(began)
	switch {
	case errors.Is(err, schemes.ErrDied):
		c.die(a)
		return errClosesChannel
	case err != nil:
		return err
	case settlement == schemes.Requeued:
		c.giveBack(ctx, a, ran, returning)
		return c.reports(ctx, map[bool]string{true: "failed", false: "duplicate_in_flight"}[ran])
	case settlement == schemes.Rejected:
		return c.sent(a, a.Reject(false), false, func(n *Counts) { n.Rejected++ })
	}
	least, most := watch.bounds(handled)
	return c.ack(ctx, a, id, ran, least, most)
}

// ack acks a delivery: it met a marker, its work was done, or it failed and must not come back.
func (c *consumer) ack(ctx context.Context, a arrival, id string, ran bool, least, most time.Duration) error {
	if !ran {
		c.tally.hit(id, a.copy())
		return errors.Join(c.sent(a, a.Ack(false), true, func(n *Counts) { n.Acked++ }), c.reports(ctx, "duplicate_done"))
	}
	failed, outcome := !c.tally.worked(id, a.copy(), least, most), "processed"
	if failed {
		outcome = "failed"
	}
	if !failed && c.tally.losesAck(id, c.fate.losesAck(id)) {
		c.die(a)
		return errClosesChannel
	}
	return errors.Join(c.sent(a, a.Ack(false), true, func(n *Counts) {
		n.Acked++
		if failed && c.fate.c.requeues() {
			n.GaveUp++
		}
	}), c.reports(ctx, outcome))
}

// reports counts an outcome where the case asks for it.
func (c *consumer) reports(ctx context.Context, outcome string) error {
	if c.report == nil {
		return nil
	}
	return c.report(context.WithoutCancel(ctx), outcome)
}

// giveBack returns a delivery after a while, and does not hold up the others meanwhile.
func (c *consumer) giveBack(ctx context.Context, a arrival, ran bool, returning *sync.WaitGroup) {
	returning.Go(func() {
		if !wait(ctx, backoff) || a.Nack(false, true) != nil {
			c.die(a) // the channel's end returns it
			return
		}
		c.tally.update(func(n *Counts) {
			n.Requeued++
			if !ran {
				n.Looping++
			}
		})
		c.tally.ended(time.Since(a.at), false)
	})
}

// die notes a delivery that the end of its channel returns.
func (c *consumer) die(a arrival) {
	c.tally.update(func(n *Counts) { n.Died++ })
	c.tally.ended(time.Since(a.at), false)
}

// sent counts a settlement once it was sent.
func (c *consumer) sent(a arrival, err error, acked bool, count func(*Counts)) error {
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	c.tally.update(count)
	c.tally.ended(time.Since(a.at), acked)
	return nil
}
