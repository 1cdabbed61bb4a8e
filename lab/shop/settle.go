package shop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dedup-dashboard/internal/message"
)

func (c *consumer) fail(ctx context.Context, a arrival, took time.Duration, returning *sync.WaitGroup) error {
	giveUp, err := c.scheme.failed(ctx, a.id())
	if err != nil {
		c.storeError(err)
		c.entry.leftMarked(a.id())
		c.giveBack(ctx, a, returning, nil)
		return nil
	}
	settled := settlement{outcome: outcomeFailed, worked: true, work: took}
	if giveUp {
		if err := c.republish(ctx, a); err != nil {
			return err
		}
		return c.ack(ctx, a, settled, func(t *Truth) { t.Failures++; t.GaveUp++ })
	}
	if err := c.retry(a); err != nil {
		return fmt.Errorf("return a failed message: %w", err)
	}
	c.entry.count(func(t *Truth) { t.Failures++; t.Work.add(took) })
	c.report(ctx, settled)
	return nil
}

// retry returns a failed message to the queue, or sends it through the retry queue where there is one.
func (c *consumer) retry(a arrival) error {
	if c.pipeline.RetryDelay == 0 {
		return a.Nack(false, true)
	}
	c.entry.delay(a.copy(), time.Now())
	if err := a.Nack(false, false); err != nil {
		return err
	}
	c.entry.count(func(t *Truth) { t.Delayed++ })
	return nil
}

// republish puts a message that is given up into the dead-letter queue, with what went wrong in its headers, where the
// broker's own dead-lettering leads to the retry queue. It returns once the broker has the message.
func (c *consumer) republish(ctx context.Context, a arrival) error {
	if c.pipeline.RetryDelay == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	confirmation, err := c.channel.PublishWithDeferredConfirmWithContext(ctx, "", c.pipeline.DeadLetterQueue(), true, false, recovered(a.Delivery, c.fate))
	if err != nil {
		return fmt.Errorf("publish a message that is given up: %w", err)
	}
	if acked, err := confirmation.WaitContext(ctx); err != nil || !acked {
		return fmt.Errorf("publish a message that is given up: not confirmed: %w", errors.Join(err))
	}
	c.entry.count(func(t *Truth) { t.Republished++ })
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

// swallow acks a delivery although its work was not done.
func (c *consumer) swallow(ctx context.Context, a arrival) error {
	return c.ack(ctx, a, settlement{outcome: outcomeDuplicateInFlight}, func(t *Truth) { t.InFlightAcked++ })
}

func (c *consumer) reject(a arrival) error {
	if err := a.Reject(false); err != nil {
		return fmt.Errorf("reject: %w", err)
	}
	switch {
	case c.pipeline.DeadLetterMissing:
		c.entry.settled(a.copy(), func(t *Truth) { t.Lost++ })
	case !c.pipeline.examined(): // else the examiner sees it in a moment
		c.entry.settled(a.copy(), func(t *Truth) { t.died(message.DeathRejected) })
	}
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
