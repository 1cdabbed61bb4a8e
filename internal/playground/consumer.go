package playground

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// errCrash ends a consumer's channel without settling what it holds, as the end of its process would.
var errCrash = errors.New("the consumer crashes, as its configuration asks")

// A consumer works on the messages of one queue, one at a time.
type consumer struct {
	pipeline PipelineConfig
	fate     fate
	entry    *entry
	scheme   scheme
	reporter *reporter
	link     link
	log      *slog.Logger
}

// An arrival is a delivery with the time at which it reached the consumer.
type arrival struct {
	amqp.Delivery
	at time.Time
}

// copy tells which copy of which message this is.
func (a arrival) copy() copyID {
	number, _ := a.Headers[copyHeader].(int32)
	return copyID{a.MessageId, number}
}

// run consumes until stop is closed, then finishes what it holds; it ends at once when ctx does.
func (c *consumer) run(ctx context.Context, stop <-chan struct{}) {
	defer c.link.close()
	for {
		err := c.session(ctx, stop)
		select {
		case <-ctx.Done():
			return
		case <-stop:
			return
		default:
		}
		if err != nil && !errors.Is(err, errCrash) {
			c.log.Warn("consumer lost its channel", "pipeline", c.pipeline.Name, "err", err)
		}
		wait(ctx, 200*time.Millisecond)
	}
}

// session consumes on one channel until that breaks, crashes or is told to stop.
func (c *consumer) session(ctx context.Context, stop <-chan struct{}) error {
	channel, err := c.link.channel()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var returning sync.WaitGroup
	defer returning.Wait()
	defer channel.Close()
	defer cancel()
	if err := channel.Qos(c.pipeline.Prefetch, 0, false); err != nil {
		return fmt.Errorf("set the prefetch: %w", err)
	}
	deliveries, err := channel.Consume(c.pipeline.Name, "worker", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	// Room for every delivery that the broker may send at once, so that the stamp is the time of arrival.
	arrivals := make(chan arrival, c.pipeline.Prefetch+1)
	go func() {
		defer close(arrivals)
		for delivery := range deliveries {
			arrivals <- arrival{delivery, time.Now()}
		}
	}()
	defer func() { go drop(arrivals) }()
	stopping := stop
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stopping:
			stopping = nil
			if err := channel.Cancel("worker", false); err != nil {
				return fmt.Errorf("cancel: %w", err)
			}
		case arrived, ok := <-arrivals:
			if !ok {
				return errors.New("the channel was closed")
			}
			if err := c.handle(ctx, arrived, &returning); err != nil {
				return err
			}
		}
	}
}

// drop lets the goroutine that stamps arrivals end when its session has.
func drop(arrivals <-chan arrival) {
	for range arrivals {
	}
}

// handle settles one delivery, or plans its return. An error ends the session.
func (c *consumer) handle(ctx context.Context, a arrival, returning *sync.WaitGroup) error {
	id := a.MessageId
	if c.fate.rejected(id) {
		return c.reject(a)
	}
	die := c.fate.stuck(id) && c.entry.attempts(id) == 0
	found, err := c.scheme.claim(ctx, id, die)
	if err != nil {
		c.storeError(err)
		c.giveBack(ctx, a, returning, nil)
		return nil
	}
	switch found {
	case claimed:
		return c.work(ctx, a, returning)
	case diedHalfway:
		c.entry.startWork(id)
		c.entry.crashed(id)
		return errCrash
	case alreadyDone:
		return c.ack(ctx, a, settlement{outcome: outcomeDuplicateDone}, func(t *Truth) { t.Duplicates++ })
	case lostRace:
		return c.ack(ctx, a, settlement{outcome: outcomeDuplicateInFlight}, func(t *Truth) { t.InFlightAcked++ })
	default:
		c.giveBack(ctx, a, returning, func() {
			c.entry.returned(id)
			c.report(ctx, settlement{outcome: outcomeDuplicateInFlight})
		})
		return nil
	}
}

// work runs the work of a claimed message and settles its delivery.
func (c *consumer) work(ctx context.Context, a arrival, returning *sync.WaitGroup) error {
	id := a.MessageId
	c.entry.revived(id)
	attempt := c.entry.startWork(id)
	started := time.Now()
	if !wait(ctx, c.fate.workTime(id, attempt)) {
		return ctx.Err()
	}
	took := time.Since(started)
	switch {
	case c.fate.crashes(id, attempt):
		c.entry.crashed(id)
		return errCrash
	case attempt == 1 && c.fate.rejectedMarked(id):
		c.entry.leftMarked(id)
		return c.reject(a)
	case c.fate.fails(id, attempt):
		return c.fail(ctx, a, took, returning)
	}
	c.entry.completeWork(id)
	if err := c.scheme.done(ctx, id); err != nil {
		// The effect has happened, and the marker says that it is still happening.
		c.storeError(err)
		c.entry.leftMarked(id)
		c.giveBack(ctx, a, returning, nil)
		return nil
	}
	if c.fate.losesAck(id, attempt) {
		c.entry.count(func(t *Truth) { t.LostAcks++ })
		return errCrash
	}
	return c.ack(ctx, a, settlement{outcome: outcomeProcessed, worked: true, work: took}, func(t *Truth) { t.Processed++ })
}

func (c *consumer) fail(ctx context.Context, a arrival, took time.Duration, returning *sync.WaitGroup) error {
	giveUp, err := c.scheme.failed(ctx, a.MessageId)
	if err != nil {
		c.storeError(err)
		c.entry.leftMarked(a.MessageId)
		c.giveBack(ctx, a, returning, nil)
		return nil
	}
	settled := settlement{outcome: outcomeFailed, worked: true, work: took}
	if giveUp {
		return c.ack(ctx, a, settled, func(t *Truth) { t.Failures++; t.GaveUp++ })
	}
	if err := a.Nack(false, true); err != nil {
		return fmt.Errorf("return a failed message: %w", err)
	}
	c.entry.count(func(t *Truth) { t.Failures++; t.Work.add(took) })
	c.report(ctx, settled)
	return nil
}

// ack acks a delivery, and only then counts it: a delivery whose ack fails comes back and is counted then.
func (c *consumer) ack(ctx context.Context, a arrival, s settlement, update func(*Truth)) error {
	if err := a.Ack(false); err != nil {
		return fmt.Errorf("ack: %w", err)
	}
	s.acked, s.ack = true, time.Since(a.at)
	c.entry.acked(a.copy(), s.ack, func(t *Truth) {
		update(t)
		if s.worked {
			t.Work.add(s.work)
		}
	})
	c.report(ctx, s)
	return nil
}

func (c *consumer) reject(a arrival) error {
	if err := a.Reject(false); err != nil {
		return fmt.Errorf("reject: %w", err)
	}
	c.entry.settled(a.copy(), func(t *Truth) { t.DeadLetters++ })
	return nil
}

// giveBack returns a delivery after the pipeline's delay without holding up the others; after runs once it is back.
func (c *consumer) giveBack(ctx context.Context, a arrival, returning *sync.WaitGroup, after func()) {
	returning.Go(func() {
		wait(ctx, c.pipeline.RequeueDelay)
		// A channel that has closed meanwhile returns the delivery by itself.
		if err := a.Nack(false, true); err == nil && after != nil {
			after()
		}
	})
}

func (c *consumer) storeError(err error) {
	c.entry.count(func(t *Truth) { t.StoreErrors++ })
	c.log.Warn("consumer cannot use its store", "pipeline", c.pipeline.Name, "err", err)
}

func (c *consumer) report(ctx context.Context, s settlement) {
	if err := c.reporter.report(context.WithoutCancel(ctx), s); err != nil {
		c.storeError(err)
	}
}
