package deadletter

import (
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// A queue follows one dead-letter queue.
type queue struct {
	ack, deliverNoAck, getNoAck, publish sample.Counter
	settled, published                   float64
	// there: the newest list had the queue.
	there  bool
	inflow inflow
	head   head
}

// A Reading is what is read of the dead-letter queues at a time.
type Reading struct {
	Broker
	At time.Time
	// Depths are those of the queues, at that time or a moment before.
	Depths sample.DepthSource
	// Counting: the broker gives counters. Later: there were readings before this one, of any queue.
	Counting, Later bool
}

// Observe takes a reading, and notes in its frame what the dead-letter queues hold, what went in and out of them otherwise than by
// dead-lettering, and whether a balance can be struck. It counts what arrived.
func (w *Watch) Observe(f *sample.Frame, r Reading) {
	whole := len(w.Targets) > 0 && r.Counting
	f.Dead, f.DeadSettled, f.DeadPublished = 0, 0, 0
	for _, t := range w.Targets {
		d, q := w.watched(t.QueueRef), r.Queues[t.QueueRef]
		there := r.Depths.Of(q)
		if there != nil && there.Messages != nil && r.Counting && d.count(q, r) {
			w.gaps++
			d.inflow.lose()
			whole = false
		}
		if q == nil && r.Complete && d.there {
			w.gaps++ // it was deleted, with what was in it
		}
		d.there = q != nil
		// These go on though the queue is not there: sums of two frames must not differ for that.
		f.DeadSettled += d.settled
		f.DeadPublished += d.published
		if there == nil || there.Messages == nil {
			d.inflow.lose()
			d.head = head{}
			whole = false
			continue
		}
		f.Dead += float64(*there.Messages)
		w.count(t, d.inflow.observe(*there.Messages, d.settled, r.At), r.Shared)
		d.head.observe(*there.Messages, d.settled, r.At)
	}
	f.DeadGaps = w.gaps
	f.Whole = f.Whole && whole && w.keeps != KeepsNot
	f.Presumed = f.Whole && w.keeps == KeepsPerhaps
	f.Whole = f.Whole && !f.Presumed
}

// count counts what arrived in a dead-letter queue, that in a shared one once for all who have it.
func (w *Watch) count(t topology.Target, arrived float64, s Sharing) {
	w.arrived.Open = true
	switch shared := s.Of(t.QueueRef); {
	case shared != nil && shared.lead == w:
		shared.arrived.Open = true
		shared.arrived.Total += arrived
	case shared == nil && !t.Onward:
		w.arrived.Total += arrived
	}
}

// watched is what is known of a queue, from now on too.
func (w *Watch) watched(ref dedup.QueueRef) *queue {
	if w.queues == nil {
		w.queues = make(map[dedup.QueueRef]*queue)
	}
	if w.queues[ref] == nil {
		w.queues[ref] = &queue{}
	}
	return w.queues[ref]
}

// count takes the counters of a dead-letter queue, and reports whether events may have been dropped: those of before its first value
// may be later than the first frame.
func (d *queue) count(q *dedup.Queue, r Reading) (dropped bool) {
	take := func(raw *sample.Counter, value *int64, sum *float64) {
		late := raw.State == sample.Unseen && value != nil && *value > 0 && r.Later
		st := raw.ObserveFrom(value, r.By)
		*sum += float64(st.Delta)
		dropped = dropped || st.Dropped || late
	}
	take(&d.ack, q.Counters.Ack, &d.settled)
	take(&d.deliverNoAck, q.Counters.DeliverNoAck, &d.settled)
	take(&d.getNoAck, q.Counters.GetNoAck, &d.settled)
	take(&d.publish, q.Counters.Publish, &d.published)
	return dropped
}
