package evidence

import (
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// Queues are those of one broker whose messages have their markers in one store, and what they tell of whoever holds these. They belong to the
// round; Take may be called at any time.
type Queues struct {
	// sources and dead, of the pipelines, are fixed once made.
	sources []dedup.QueueRef
	dead    []*deadletter.Watch

	mu    sync.Mutex
	calms sample.Calms

	sampled  uint64
	closings sample.Closings
	// gets: messages of the queues are or were taken by basic.get. ungot is up to when it is known that none was.
	gets      bool
	ungot     time.Time
	deserted  time.Time // since when no queue has had a consumer; zero when some have or it is not known
	consumers *int64
}

// A Reading is the newest sample of the broker.
type Reading struct {
	// Count tells it from the one before.
	Count  uint64
	Queues map[dedup.QueueRef]*dedup.Queue
	At     time.Time
	Took   time.Duration
	// Counting: the broker gives counters.
	Counting bool
	// Alone: its depths have to do, since no live totals come.
	Alone bool
}

// Follow adds the queues of a pipeline.
func (s *Queues) Follow(sources []dedup.QueueRef, dead *deadletter.Watch) {
	s.dead = append(s.dead, dead)
	for _, ref := range sources {
		if !slices.Contains(s.sources, ref) {
			s.sources = append(s.sources, ref)
		}
	}
	s.calms.Sources = s.sources
}

// Sources are the source queues of all pipelines.
func (s *Queues) Sources() []dedup.QueueRef { return s.sources }

// Take takes the depths of all queues of the broker as they were between two times, by their own account.
func (s *Queues) Take(queues map[dedup.QueueRef]*dedup.Queue, began, ended time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calms.Take(queues, began, ended, false)
}

// OutUntil returns the readings of deliveries out that had ended by a time.
func (s *Queues) OutUntil(at time.Time) []dedup.OutReading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calms.OutUntil(at)
}

// Observe takes the newest sample, and what the newest topology tells of the connections.
func (s *Queues) Observe(r Reading, links *sample.Links) {
	fresh := r.Count != s.sampled
	s.sampled = r.Count
	dead := s.deadLetterQueues()
	s.mu.Lock()
	s.calms.Dead = dead
	if fresh && r.Alone {
		s.calms.Take(r.Queues, r.At, r.At.Add(r.Took), true)
	}
	s.mu.Unlock()
	if fresh {
		s.noteConsumers(r.Queues, r.At)
		s.noteGets(r.Queues, r.At, r.Counting)
	}
	if !s.gets {
		s.closings.Take(links.Closing(s.sources, r.Queues))
	}
}

// noteGets learns whether anybody takes messages by basic.get. Such a worker holds its delivery on a connection that is no
// consumer's, so that closed connections of consumers say nothing of it. The broker's own counters tell, whenever it was
// and however often we were restarted; they are late by sample.CounterLag.
func (s *Queues) noteGets(queues map[dedup.QueueRef]*dedup.Queue, at time.Time, counting bool) {
	positive := func(n *int64) bool { return n != nil && *n > 0 }
	s.gets = false
	for _, ref := range s.sources {
		q := queues[ref]
		counting = counting && q != nil
		s.gets = s.gets || q != nil && (positive(q.Counters.Get) || positive(q.Counters.GetNoAck))
	}
	switch {
	case s.gets:
		s.closings.Forget()
		s.ungot = time.Time{}
	case counting:
		s.ungot = at.Add(-sample.CounterLag).Round(0)
	}
}

func (s *Queues) noteConsumers(queues map[dedup.QueueRef]*dedup.Queue, at time.Time) {
	n, known := sample.SumOver(queues, s.sources, func(q *dedup.Queue) *int64 { return q.Consumers })
	s.consumers = nil
	if known {
		s.consumers = &n
	}
	switch {
	case !known || n > 0:
		s.deserted = time.Time{}
	case s.deserted.IsZero():
		s.deserted = at.Round(0)
	}
}

// deadLetterQueues are those of every pipeline; nil unless all of them are known for sure.
func (s *Queues) deadLetterQueues() []dedup.QueueRef {
	var all []dedup.QueueRef
	for _, d := range s.dead {
		if !d.Found.Complete || len(d.Targets) == 0 {
			return nil
		}
		for _, t := range d.Targets {
			if !slices.Contains(all, t.QueueRef) {
				all = append(all, t.QueueRef)
			}
		}
		for _, t := range d.Found.Targets {
			if !slices.Contains(all, t.QueueRef) {
				return nil
			}
		}
	}
	return all
}
