// Package queue counts what a broker counts of the source queues of a pipeline, and sums up what they hold.
package queue

import (
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// Counts are those of the source queues of one pipeline. They belong to the round.
type Counts struct {
	refs                                                []dedup.QueueRef
	Publishes, Acks, Deliveries, Redeliveries, AutoAcks *counter.Tally
	raw                                                 map[dedup.QueueRef]*counters
	// gaps are those of a frame, and so are gets, entered and its gaps.
	gaps, gets, entered, enteredGaps float64
}

// NewCounts are the counts of a pipeline with these source queues.
func NewCounts(pipeline string, refs []dedup.QueueRef, b *counter.Book) Counts {
	total := func(metric string) *counter.Tally { return b.Tally(metric, "pipeline", pipeline) }
	return Counts{refs: refs, Publishes: total(series.BrokerPublishes), Acks: total(series.BrokerAcks), Deliveries: total(series.BrokerDeliveries),
		Redeliveries: total(series.BrokerRedeliveries), AutoAcks: total(series.BrokerAutoAcks), raw: make(map[dedup.QueueRef]*counters)}
}

// A Reading is a list of queues as a broker gave it at a time.
type Reading struct {
	At     time.Time
	Queues map[dedup.QueueRef]*dedup.Queue
	// Complete: the list hides no queue. By says who tells its counters.
	Complete bool
	By       sample.Witness
	// Counting: the broker gives counters. Later: there were readings before this one.
	Counting, Later bool
}

// counters are the raw counters of one source queue.
type counters struct {
	node                                                          string
	publish, deliver, get, redeliver, ack, deliverNoAck, getNoAck sample.Counter
	entered                                                       enteredCounter
}

func (q *counters) all() []*sample.Counter {
	return []*sample.Counter{&q.publish, &q.deliver, &q.get, &q.redeliver, &q.ack, &q.deliverNoAck, &q.getNoAck}
}

// lose forgets what the queue counted where it is gone or elsewhere, and reports whether events may have been dropped.
func (q *counters) lose(complete bool) (dropped bool) {
	for _, raw := range q.all() {
		if raw.State == sample.Counting || (raw.State == sample.Absent && !complete) {
			dropped = raw.Lose().Dropped || dropped
		}
	}
	return dropped
}

// awaitBirth notes that the queue does not exist: its counters will be born at 0.
func (q *counters) awaitBirth() {
	for _, raw := range q.all() {
		if raw.State == sample.Unseen {
			raw.Observe(nil)
		}
	}
}

// Observe takes a reading, and notes in its frame what was counted by then. It reports whether events may have been dropped, and whether
// messages were acked since the reading before.
func (c *Counts) Observe(f *sample.Frame, r Reading) (dropped, acked bool) {
	f.Unpublished, f.EnteredKnown, f.Unentered = r.Counting, r.Counting, r.Counting
	f.Consumers, f.ConsumersKnown = 0, true
	before, unborn := c.Acks.Total+c.AutoAcks.Total, 0
	for _, ref := range c.refs {
		q := r.Queues[ref]
		if r.Counting {
			dropped = c.count(ref, r) || dropped
			c.takeEntered(f, ref, r)
			f.Unpublished = f.Unpublished && c.raw[ref].publish.State == sample.Absent
		}
		if q == nil && r.Complete {
			unborn++
		}
		if q == nil || q.Consumers == nil {
			f.ConsumersKnown = false
		} else {
			f.Consumers += float64(*q.Consumers)
		}
	}
	f.Unborn = unborn == len(c.refs)
	if dropped {
		c.Gap()
	}
	f.Acks, f.Redeliveries, f.Deliveries, f.AutoAcks, f.Publishes = c.Acks.Total, c.Redeliveries.Total, c.Deliveries.Total, c.AutoAcks.Total, c.Publishes.Total
	f.Gaps, f.Gets, f.Entered, f.EnteredGaps = c.gaps, c.gets, c.entered, c.enteredGaps+c.gaps
	return dropped, c.Acks.Total+c.AutoAcks.Total > before
}

// Gap notes that what was counted before cannot be compared with what is counted now.
func (c *Counts) Gap() { c.gaps++ }

// count takes the counters of one source queue. It reports whether events may have been dropped.
func (c *Counts) count(ref dedup.QueueRef, r Reading) (dropped bool) {
	own, q := c.raw[ref], r.Queues[ref]
	if own == nil {
		own = &counters{}
		c.raw[ref] = own
	}
	if q == nil || (own.node != "" && q.Node != "" && q.Node != own.node) {
		dropped = own.lose(r.Complete)
	}
	if q == nil {
		if r.Complete && !dropped {
			own.awaitBirth()
		}
		return dropped
	}
	if q.Node != "" {
		own.node = q.Node
	}
	take := func(raw *sample.Counter, value *int64, t *counter.Tally) sample.Step {
		// A first value above 0 counts events of the time before, some of which may be later than the first frame.
		late := raw.State == sample.Unseen && value != nil && *value > 0 && r.Later
		st := raw.ObserveFrom(value, r.By)
		dropped = dropped || st.Dropped || late
		if raw.Known() {
			t.Take(st)
		}
		return st
	}
	n := q.Counters
	take(&own.publish, n.Publish, c.Publishes)
	take(&own.ack, n.Ack, c.Acks)
	take(&own.deliver, n.Deliver, c.Deliveries)
	c.gets += float64(take(&own.get, n.Get, c.Deliveries).Delta)
	take(&own.redeliver, n.Redeliver, c.Redeliveries)
	take(&own.deliverNoAck, n.DeliverNoAck, c.AutoAcks)
	take(&own.getNoAck, n.GetNoAck, c.AutoAcks)
	return dropped
}

// Store adds what is stored of the counts.
func (c *Counts) Store(into counter.Batch) {
	into.Tallies(c.Publishes, c.Acks, c.Deliveries, c.Redeliveries, c.AutoAcks)
}
