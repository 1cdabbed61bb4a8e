package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

const (
	// maxSlice is the most messages that a peek has sent to it at once, firstSlice how many it begins with: how large they are is known
	// once some have come.
	maxSlice   = 256
	firstSlice = 32
	// sliceIdle is how long a slice waits for its next message before it asks whether the queue has any, sliceStarved how long it waits
	// for one though the queue has some.
	sliceIdle    = 100 * time.Millisecond
	sliceStarved = 5 * time.Second
)

// A peeker takes messages from the head of a queue over a channel that nothing else uses, and puts them back.
//
// From a classic queue that nobody consumes from, and that stays without consumers, it consumes, a slice at a time: the next consumer begins when the one before has ended,
// and what that one brought is still held. It never consumes exclusively, which would lock the owners of the queue out. From all others it gets
// message by message, which passes a single active consumer, and leaves to other consumers what it has not asked for.
type peeker struct {
	link      *Link
	bodies    *bodyFilter
	described dedup.Queue
	limit     int
	maxBytes  int64

	peek    dedup.Peek
	held    int
	bytes   int64
	largest int64
}

// run peeks at a queue that stands as live says.
func (p *peeker) run(ctx context.Context, live amqp.Queue) (dedup.Peek, error) {
	guard := time.AfterFunc(maxHeld+closeTimeout+returnWithin, p.link.Abort)
	defer guard.Stop()
	var err error
	if p.mayConsume(live) {
		err = p.consume(ctx, live)
	} else {
		err = p.get(ctx)
	}
	if err != nil {
		return dedup.Peek{}, p.link.Fail(err)
	}
	if err := p.putBack(); err != nil {
		return dedup.Peek{}, p.link.Fail(err)
	}
	return p.peek, ctx.Err()
}

func (p *peeker) classic() bool { return p.described.Type == "classic" }

// mayConsume reports whether a consumer of ours is in nobody's way. With its end a queue that deletes itself would go, and all that is in it.
func (p *peeker) mayConsume(live amqp.Queue) bool {
	return p.classic() && live.Consumers == 0 && p.limit > 1 &&
		!p.described.AutoDelete && p.described.Arguments["x-single-active-consumer"] != true
}

// get takes one message after the other.
func (p *peeker) get(ctx context.Context) error {
	for !p.enough(ctx) {
		d, ok, err := p.link.Channel.Get(p.peek.Queue.Name, false)
		if err != nil || !ok {
			return err
		}
		if p.held == 0 {
			p.peek.Ready = int64(d.MessageCount) + 1
		}
		p.take(&d)
	}
	return nil
}

// consume takes slice after slice until the queue has no more ready. A consumer that appears meanwhile ends it: what is not taken yet is that
// one's.
func (p *peeker) consume(ctx context.Context, live amqp.Queue) error {
	for size := firstSlice; live.Messages > 0 && !p.enough(ctx); size = min(2*size, maxSlice) {
		before := p.held
		why, err := p.slice(ctx, min(size, live.Messages, p.limit-p.held, p.fitting()))
		if err != nil && before == 0 && broker.KindOf(p.link.explain(err)) == broker.InUse {
			return p.getInstead(ctx) // somebody has it exclusively since it was inspected
		}
		if err == nil {
			live, err = inspect(p.link.Channel, p.peek.Queue.Name)
		}
		switch {
		case err != nil:
			return err
		case live.Messages == 0 && p.held == len(p.peek.Messages) && ctx.Err() == nil:
			p.peek.Short = "" // it had no more
		case p.enough(ctx):
		case why != "":
			p.peek.Short = why
			return nil
		case live.Consumers > 0:
			p.peek.Short = "somebody began to consume from the queue"
			return nil
		}
	}
	return nil
}

// getInstead goes on over another channel, after the broker has ended the first.
func (p *peeker) getInstead(ctx context.Context) error {
	if err := p.link.reopen(); err != nil {
		return err
	}
	return p.get(ctx)
}

// fitting is how many messages like those that were taken so far fit into what may still be taken.
func (p *peeker) fitting() int {
	each := p.largest
	if b, n := p.described.Bytes, p.described.Messages; b != nil && n != nil && *n > 0 {
		each = max(each, *b / *n)
	}
	if each == 0 {
		return maxSlice
	}
	return int(max(1, min(maxSlice, (p.maxBytes-p.bytes)/each)))
}

// slice takes up to n messages by a consumer of their own, and says why it ended before if it did not for want of messages.
func (p *peeker) slice(ctx context.Context, n int) (why string, err error) {
	channel, tag := p.link.Channel, fmt.Sprintf("dedup-dashboard-peek-%d", p.held)
	if err := channel.Qos(n, 0, false); err != nil {
		return "", err
	}
	const autoAck, exclusive, noLocal, noWait = false, false, false, false
	deliveries, err := channel.Consume(p.peek.Queue.Name, tag, autoAck, exclusive, noLocal, noWait, nil)
	if err != nil {
		return "", err
	}
	why, err = p.receive(ctx, deliveries, n)
	switch {
	case errors.Is(err, errCancelled):
		return "the broker ended the consumer", nil
	case err != nil:
		return "", err
	}
	// Nothing more is sent once this is answered, and what was sent before has come. What goes back must not come straight to us again.
	if err := channel.Cancel(tag, false); err != nil {
		return "", err
	}
	for d := range deliveries {
		p.take(&d)
	}
	return why, nil
}

// errCancelled says that the broker ended a consumer, as it does when a queue is deleted.
var errCancelled = errors.New("the broker ended the consumer")

// receive takes n messages of a slice, or as many as come.
func (p *peeker) receive(ctx context.Context, deliveries <-chan amqp.Delivery, n int) (why string, err error) {
	idle := time.NewTimer(sliceIdle)
	defer idle.Stop()
	for since := time.Now(); n > 0 && !p.enough(ctx); {
		select {
		case d, ok := <-deliveries:
			if !ok && p.link.Channel.IsClosed() {
				return "", ErrEnded
			}
			if !ok {
				return "", errCancelled
			}
			p.take(&d)
			n--
			since = time.Now()
		case <-idle.C:
			live, err := inspect(p.link.Channel, p.peek.Queue.Name)
			if err != nil || live.Messages == 0 {
				return "", err
			}
			if time.Since(since) > sliceStarved {
				return fmt.Sprintf("the queue has %d messages ready and sent none for %s", live.Messages, sliceStarved), nil
			}
		case <-ctx.Done():
		}
		idle.Reset(sliceIdle)
	}
	return "", nil
}

// take notes a message that is held. What is beyond the limits goes back without being looked at.
func (p *peeker) take(d *amqp.Delivery) {
	body := p.bodies.leftOut(p.held)
	p.held++
	if len(p.peek.Messages) >= p.limit || p.bytes >= p.maxBytes {
		return
	}
	m := fromDelivery(d)
	m.LeftOut = body
	size := m.BodySize() + int64(headerFrame(&amqp.Publishing{Headers: d.Headers}))
	p.bytes += size
	p.largest = max(p.largest, size)
	p.peek.Messages = append(p.peek.Messages, m)
}

// enough reports whether no more is to be taken, and notes why where that is before the limit.
func (p *peeker) enough(ctx context.Context) bool {
	switch {
	case len(p.peek.Messages) >= p.limit:
		return true
	case ctx.Err() != nil:
		p.peek.Short = "it was given up"
	case p.bytes >= p.maxBytes:
		p.peek.Short = fmt.Sprintf("%d bytes were read", p.bytes)
	case time.Since(p.peek.At) > maxHeld:
		p.peek.Short = "messages were held for " + maxHeld.String()
	default:
		return false
	}
	return true
}

// putBack gives back all that is held and waits until the queue has it.
func (p *peeker) putBack() error {
	if p.held > 0 && !p.classic() {
		// One answer for all, and never a reject, which would dead-letter. 0 means all.
		if err := p.link.Channel.Nack(0, true, true); err != nil {
			return err
		}
	}
	// A classic queue takes back what an ended channel held in one go. What was got message by message it would take back one by one after a
	// nack, searching the place of each: 10,000 take it half a minute and more, in which it has none of them ready.
	if err := p.link.Channel.Close(); err != nil {
		return err
	}
	if p.held > 0 {
		p.link.awaitReturn(p.peek.Queue.Name, p.held)
	}
	p.peek.Took = time.Since(p.peek.At)
	return nil
}
