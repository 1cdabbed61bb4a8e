package shop

import (
	"context"
	"crypto/md5"
	"encoding/hex"
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
	channel  *amqp.Channel // of the session
	log      *slog.Logger
}

// An arrival is a delivery with the time at which it reached the consumer.
type arrival struct {
	amqp.Delivery
	at time.Time
}

// id is the message's id, or the MD5 of its body where it has none: the fallback of the schemes' consumers.
func (a arrival) id() string { return idOf(a.MessageId, a.Body) }

func idOf(messageID string, body []byte) string {
	if messageID != "" {
		return messageID
	}
	sum := md5.Sum(body)
	return hex.EncodeToString(sum[:])
}

// copy tells which copy of which message this is.
func (a arrival) copy() copyID { return copyOf(a.Delivery) }

func copyOf(d amqp.Delivery) copyID {
	return copyID{id: idOf(d.MessageId, d.Body), copy: int32(number(d.Headers[copyHeader])), requeues: number(d.Headers[requeueHeader])}
}

// number reads a whole number of any size from a header; what is none counts as 0.
func number(value any) int64 {
	switch value := value.(type) {
	case int16:
		return int64(value)
	case int32:
		return int64(value)
	case int64:
		return value
	}
	return 0
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
	if c.pipeline.RetryDelay > 0 {
		if err := channel.Confirm(false); err != nil {
			return fmt.Errorf("ask for confirms: %w", err)
		}
	}
	c.channel = channel
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
	id, which := a.id(), a.copy()
	c.entry.cameBack(which)
	c.entry.delayEnds(which, a.at)
	if c.refuses(which) {
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
		return c.swallow(ctx, a)
	case present:
		if c.entry.completed(id) {
			return c.ack(ctx, a, settlement{outcome: outcomeDuplicateDone}, func(t *Truth) { t.Duplicates++ })
		}
		return c.swallow(ctx, a)
	default:
		c.giveBack(ctx, a, returning, func() {
			c.entry.returned(id)
			c.report(ctx, settlement{outcome: outcomeDuplicateInFlight})
		})
		return nil
	}
}

// refuses tells whether a message is rejected before any work. One that was requeued is refused again where it is still
// broken and the pipeline does not find that out by failing.
func (c *consumer) refuses(which copyID) bool {
	if which.requeues == 0 {
		return c.fate.rejected(which.id)
	}
	return !c.failsWhenBroken() && c.fate.broken(which)
}

func (c *consumer) failsWhenBroken() bool {
	return c.pipeline.DeliveryLimit > 0 || c.pipeline.RetryDelay > 0
}

// poisoned tells whether every attempt at a message fails.
func (c *consumer) poisoned(which copyID) bool {
	if which.requeues == 0 {
		return c.fate.poisonous(which.id)
	}
	return c.failsWhenBroken() && c.fate.broken(which)
}

// work runs the work of a claimed message and settles its delivery.
func (c *consumer) work(ctx context.Context, a arrival, returning *sync.WaitGroup) error {
	id := a.id()
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
		c.entry.count(func(t *Truth) { t.Abandoned++ })
		return c.reject(a)
	case c.poisoned(a.copy()) || c.fate.fails(id, attempt):
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
