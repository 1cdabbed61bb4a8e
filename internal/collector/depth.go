package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// liveDepths are the depths of queues as their own processes told them when they were asked, unlike those of a sample,
// which are up to sample.DepthLag old. The map is never changed once made.
type liveDepths struct {
	at     time.Time // when they were asked; zero when they never were
	queues map[dedup.QueueRef]*dedup.Queue
}

// of returns the live depth of a queue, and false when there is none. Only a classic queue is asked itself: the broker
// answers for the others from tables that they renew every few seconds.
func (l liveDepths) of(q *dedup.Queue) (*dedup.Queue, bool) {
	if q.Type != "classic" {
		return nil, false
	}
	live, ok := l.queues[q.QueueRef]
	return live, ok && live.Messages != nil && live.Unacked != nil
}

// A depthSource gives the depths of a pipeline's queues, all live or all of the same sample.
type depthSource struct {
	live liveDepths
	from time.Time // they were taken at this time or later
}

// depthsOf returns the live depths where every queue of the pipeline has one, else those of the sample.
func (p *pipeline) depthsOf(s *brokerReading) depthSource {
	sampled := depthSource{from: s.At.Add(-sample.DepthLag)}
	if s.depths.at.Before(sampled.from) || s.depths.at.After(s.At) {
		return sampled
	}
	for _, ref := range slices.Concat(p.refs, p.deadRefs()) {
		q := p.broker.queues[ref]
		if q == nil {
			return sampled
		}
		if _, ok := s.depths.of(q); !ok {
			return sampled
		}
	}
	return depthSource{live: s.depths, from: s.depths.at}
}

// deadRefs are the dead-letter queues of the pipeline.
func (p *pipeline) deadRefs() []dedup.QueueRef {
	refs := make([]dedup.QueueRef, len(p.targets))
	for i, t := range p.targets {
		refs[i] = t.QueueRef
	}
	return refs
}

// of returns the queue as it is to be read for its depth; nil for no queue.
func (d depthSource) of(q *dedup.Queue) *dedup.Queue {
	if q == nil {
		return nil
	}
	if live, ok := d.live.of(q); ok {
		return live
	}
	return q
}

// measureDepths sets what the frame of a reading says of messages that are still there, and of dead letters.
func (p *pipeline) measureDepths(f *sample.Frame, s *brokerReading) {
	depths := p.depthsOf(s)
	f.DepthFrom, f.Whole, f.Blind, f.Depth, f.Unacked = depths.from, p.keeps != keepsNot, false, 0, 0
	for _, ref := range p.refs {
		q := p.broker.queues[ref]
		if q == nil && p.broker.complete {
			continue // it does not exist
		}
		if q = depths.of(q); q == nil || q.Messages == nil || q.Unacked == nil {
			f.Blind, f.Whole = true, false
			continue
		}
		f.Depth += float64(*q.Messages)
		f.Unacked += float64(*q.Unacked)
	}
	f.Whole = p.absorbDeadLetters(f, s, depths) && f.Whole
	f.Presumed = f.Whole && p.keeps == keepsPerhaps
	f.Whole = f.Whole && !f.Presumed
}

// completeFrame measures the newest frame again when it is of this reading, whose dead-letter queues were found only
// after it.
func (p *pipeline) completeFrame(s *brokerReading) {
	n := len(p.counted.Traffic.Frames)
	if n == 0 {
		return
	}
	if f := &p.counted.Traffic.Frames[n-1]; f.Began.Equal(s.At) && !f.Whole && !f.Presumed {
		p.measureDepths(f, s)
	}
}

// absorbDeadLetters follows the dead-letter queues, notes in a frame what they hold and what went in and out of them otherwise than by
// dead-lettering, and reports whether that is known and complete.
func (p *pipeline) absorbDeadLetters(f *sample.Frame, s *brokerReading, depths depthSource) bool {
	whole := len(p.targets) > 0 && s.counting()
	f.Dead, f.DeadSettled, f.DeadPublished = 0, 0, 0
	for _, t := range p.targets {
		d, ok := p.dead[t.QueueRef]
		if !ok {
			d = &deadQueue{}
			p.dead[t.QueueRef] = d
		}
		q := p.broker.queues[t.QueueRef]
		there := depths.of(q)
		if there != nil && there.Messages != nil && s.counting() && d.count(p, q) {
			p.deadGaps++
			d.inflow.lose()
			whole = false
		}
		if q == nil && p.broker.complete && d.there {
			p.deadGaps++ // it was deleted, with what was in it
		}
		d.there = q != nil
		// These go on though the queue is not there: sums of two frames must not differ for that.
		f.DeadSettled += d.settled
		f.DeadPublished += d.published
		if there == nil || there.Messages == nil {
			d.inflow.lose()
			d.head = deadHead{}
			whole = false
			continue
		}
		f.Dead += float64(*there.Messages)
		if q.Messages == nil {
			d.inflow.lose()
			continue
		}
		p.arrived.open = true
		arrived := d.inflow.observe(*q.Messages, d.settled, s.At)
		switch shared := p.broker.shared[t.QueueRef]; {
		case shared != nil && shared.lead == p:
			shared.arrived.open = true
			shared.arrived.total += arrived
		case shared == nil && !t.Onward:
			p.arrived.total += arrived
		}
		d.head.observe(*q.Messages, d.settled, s.At)
	}
	f.DeadGaps = p.deadGaps
	return whole
}

// count takes the counters of a dead-letter queue, and reports whether events may have been dropped: those of before its first value
// may be later than the first frame.
func (d *deadQueue) count(p *pipeline, q *dedup.Queue) (dropped bool) {
	take := func(raw *sample.Counter, value *int64, sum *float64) {
		late := raw.State == sample.Unseen && value != nil && *value > 0 && len(p.counted.Traffic.Frames) > 0
		st := p.observe(raw, value)
		*sum += float64(st.Delta)
		dropped = dropped || st.Dropped || late
	}
	take(&d.ack, q.Counters.Ack, &d.settled)
	take(&d.deliverNoAck, q.Counters.DeliverNoAck, &d.settled)
	take(&d.getNoAck, q.Counters.GetNoAck, &d.settled)
	take(&d.publish, q.Counters.Publish, &d.published)
	return dropped
}
