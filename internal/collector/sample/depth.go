package sample

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// LiveDepths are the depths of queues as their own processes told them when they were asked, unlike those of a sample,
// which are up to DepthLag old. The map is never changed once made.
type LiveDepths struct {
	At     time.Time // when they were asked; zero when they never were
	Queues map[dedup.QueueRef]*dedup.Queue
}

// of returns the live depth of a queue, and false when there is none. Only a classic queue is asked itself: the broker
// answers for the others from tables that they renew every few seconds.
func (d LiveDepths) of(q *dedup.Queue) (*dedup.Queue, bool) {
	if q.Type != "classic" {
		return nil, false
	}
	live, ok := d.Queues[q.QueueRef]
	return live, ok && live.Messages != nil && live.Unacked != nil
}

// Newest returns the live depth of a queue that a sample of a time lists, and of when it is; what the sample says where there is none, or none as new.
func (d LiveDepths) Newest(q *dedup.Queue, at time.Time) (*dedup.Queue, time.Time) {
	if live, ok := d.of(q); ok && d.fresh(at) {
		return live, d.At
	}
	return q, at
}

// fresh reports whether they are no older than the depths of a sample of a time, and no newer than it.
func (d LiveDepths) fresh(at time.Time) bool {
	return !d.At.Before(at.Add(-DepthLag)) && !d.At.After(at)
}

// A DepthSource gives the depths of a pipeline's queues, all live or all of the same sample.
type DepthSource struct {
	live LiveDepths
	from time.Time // they were taken at this time or later
}

// DepthsOf returns the live depths where every one of some queues has one, else those of the sample that listed them at a time.
func DepthsOf(live LiveDepths, at time.Time, refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue) DepthSource {
	sampled := DepthSource{from: at.Add(-DepthLag)}
	if !live.fresh(at) {
		return sampled
	}
	for _, ref := range refs {
		q := queues[ref]
		if q == nil {
			return sampled
		}
		if _, ok := live.of(q); !ok {
			return sampled
		}
	}
	return DepthSource{live: live, from: live.At}
}

// Of returns the queue as it is to be read for its depth; nil for no queue.
func (d DepthSource) Of(q *dedup.Queue) *dedup.Queue {
	if q == nil {
		return nil
	}
	if live, ok := d.live.of(q); ok {
		return live
	}
	return q
}

// Measure sets what the frame says of messages that are still in the source queues; complete lists of queues hide none.
func (f *Frame) Measure(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue, complete bool, d DepthSource) {
	f.DepthFrom, f.Whole, f.Blind, f.Depth, f.Unacked = d.from, true, false, 0, 0
	for _, ref := range refs {
		q := queues[ref]
		if q == nil && complete {
			continue // it does not exist
		}
		if q = d.Of(q); q == nil || q.Messages == nil || q.Unacked == nil {
			f.Blind, f.Whole = true, false
			continue
		}
		f.Depth += float64(*q.Messages)
		f.Unacked += float64(*q.Unacked)
	}
}
