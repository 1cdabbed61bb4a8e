package trace

import (
	"context"
	"math"
	"time"

	"dedup-dashboard/internal/broker/live"
	"dedup-dashboard/internal/dedup"
)

const (
	// edge is for how long before and after a reading of live counts a delivery may be on either side of it: its trace comes a little later.
	edge = 50 * time.Millisecond
	// statsAge is how old the statistics of the management API can be.
	statsAge = 7 * time.Second
)

// A counter counts what a broker delivered from some queues, to compare it with what was traced.
type counter interface {
	// begin and end return the moment that was counted at; look is called in between, each second.
	begin(context.Context) (time.Time, error)
	look(context.Context)
	end(context.Context) time.Time
	// settle returns how many were delivered in between, and by how much that can be off. It may wait until the broker has counted all.
	settle(ctx context.Context, traced []dedup.TracedDelivery) (counted, unsure float64)
}

// A liveCounter asks the Prometheus plugin, whose counts are of the moment.
type liveCounter struct {
	reader      *live.Reader
	queues      []dedup.QueueRef
	first, last live.Reading
	next        time.Time
}

// newLiveCounter makes a reader of its own, which watches these queues alone.
func (t *Tracer) newLiveCounter(queues []dedup.QueueRef) (counter, error) {
	reader, err := live.NewReader(t.config)
	if err != nil || reader == nil {
		return nil, err
	}
	reader.Watch(queues...)
	return &liveCounter{reader: reader, queues: queues}, nil
}

func (c *liveCounter) begin(ctx context.Context) (time.Time, error) {
	var err error
	c.first, err = c.reader.Read(ctx)
	c.next = time.Now().Add(c.first.Next)
	return middle(c.first), err
}

func (c *liveCounter) look(ctx context.Context) {
	if time.Now().Before(c.next) {
		return
	}
	if reading, err := c.reader.Read(ctx); err == nil {
		c.next = time.Now().Add(reading.Next)
	}
}

func (c *liveCounter) end(ctx context.Context) time.Time {
	reading, err := c.reader.Read(ctx)
	if err != nil {
		return time.Now() // c.last stays empty: nothing is known
	}
	c.last = reading
	return middle(reading)
}

func middle(r live.Reading) time.Time { return r.Begun.Add(r.Done.Sub(r.Begun) / 2) }

// settle waits for nothing.
func (c *liveCounter) settle(_ context.Context, traced []dedup.TracedDelivery) (counted, unsure float64) {
	var low, high float64
	for _, queue := range c.queues {
		before, known := c.first.Count(queue)
		after, still := c.last.Count(queue)
		if !known || !still || c.first.Gap != nil || c.last.Gap != nil || after.Since.After(c.first.Done) {
			return 0, math.Inf(1)
		}
		least, most := live.Between(before, after)
		for _, kind := range []live.Kind{live.Delivered, live.DeliveredAuto, live.Got, live.GotAuto} {
			low += float64(least[kind])
			if high += float64(most[kind]); most[kind] == live.Unbounded {
				high = math.Inf(1)
			}
		}
	}
	for _, d := range traced {
		if near(d.At, c.first) || near(d.At, c.last) {
			unsure++
		}
	}
	return nearest(float64(len(traced)), low, high), unsure
}

// near reports whether a delivery may be on either side of a reading.
func near(at time.Time, r live.Reading) bool {
	return at.After(r.Begun.Add(-edge)) && at.Before(r.Done.Add(edge))
}

// nearest is the number from low to high that is nearest to what was traced: where both differ, at least so many are missing or too many.
func nearest(traced, low, high float64) float64 { return min(max(traced, low), high) }

// A statCounter asks the management API, whose statistics are some seconds old: between two ages of them lies what is counted.
type statCounter struct {
	watch  queueReader
	queues []dedup.QueueRef
	now    func() time.Time
	began  time.Time
	// The counts as they were told at the beginning, when those of the beginning had been counted, and the same of the end. Each is at most what was
	// delivered then, and the later of two at least that.
	beginLow, beginHigh, endLow, endHigh *float64
}

// A queueReader describes one queue.
type queueReader interface {
	Queue(context.Context, dedup.QueueRef) (dedup.Queue, error)
}

func (c *statCounter) begin(ctx context.Context) (time.Time, error) {
	c.beginLow = c.read(ctx)
	c.began = c.now()
	return c.began, nil
}

func (c *statCounter) look(ctx context.Context) {
	if c.beginHigh == nil && c.now().Sub(c.began) >= statsAge {
		c.beginHigh = c.read(ctx)
	}
}

func (c *statCounter) end(ctx context.Context) time.Time {
	c.endLow = c.read(ctx)
	return c.now()
}

func (c *statCounter) settle(ctx context.Context, traced []dedup.TracedDelivery) (counted, unsure float64) {
	if c.beginLow == nil || c.beginHigh == nil || c.endLow == nil {
		return 0, math.Inf(1)
	}
	select {
	case <-ctx.Done():
		return 0, math.Inf(1)
	case <-time.After(statsAge):
	}
	c.endHigh = c.read(ctx)
	if c.endHigh == nil || *c.beginHigh < *c.beginLow || *c.endLow < *c.beginHigh || *c.endHigh < *c.endLow {
		return 0, math.Inf(1) // a node was started again, or its counts went with a queue
	}
	return nearest(float64(len(traced)), *c.endLow-*c.beginHigh, *c.endHigh-*c.beginLow), 0
}

// read adds up what was delivered from all queues; nil where it is not told of one.
func (c *statCounter) read(ctx context.Context) *float64 {
	var sum float64
	for _, ref := range c.queues {
		queue, err := c.watch.Queue(ctx, ref)
		if err != nil {
			return nil
		}
		for _, n := range []*int64{queue.Counters.Deliver, queue.Counters.DeliverNoAck, queue.Counters.Get, queue.Counters.GetNoAck} {
			if n != nil { // a queue from which nothing was delivered in this way has no such counter
				sum += float64(*n)
			}
		}
	}
	return &sum
}
