package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// A storeQueues is what a store keeps of the queues of one broker whose messages have their markers in it. It belongs to
// the round, but for the calms, which belongs to the broker's occupancy.
type storeQueues struct {
	broker   *brokerWatch
	users    []*pipeline
	calms    *sample.Calms
	sampled  uint64
	closings sample.Closings
	// gets: messages of the queues are or were taken by basic.get. ungot is up to when it is known that none was.
	gets      bool
	ungot     time.Time
	deserted  time.Time // since when no queue has had a consumer; zero when some have or it is not known
	consumers *int64
}

// findQueues groups the pipelines of the store by broker.
func (w *storeWatch) findQueues() {
	for _, p := range w.users {
		i := slices.IndexFunc(w.queues, func(s *storeQueues) bool { return s.broker == p.broker })
		if i < 0 {
			i = len(w.queues)
			w.queues = append(w.queues, &storeQueues{broker: p.broker, calms: p.broker.read.Live.Calms(w.store.Name())})
		}
		s := w.queues[i]
		s.users = append(s.users, p)
		for _, ref := range p.refs {
			if !slices.Contains(s.calms.Sources, ref) {
				s.calms.Sources = append(s.calms.Sources, ref)
			}
		}
	}
}

// absorb takes the newest sample and topology of the broker.
func (s *storeQueues) absorb(now time.Time) {
	b := s.broker
	sample, count := b.read.Sample.Get()
	if count == 0 {
		return
	}
	dead := s.deadLetterQueues()
	b.read.Live.Locked(func() {
		s.calms.Dead = dead
		// Without live totals the counts of the sample have to do; how old they are when its collector lags nobody can say.
		if count != s.sampled && !b.read.Totals.Status(now).OK && !late(&sample.BrokerSample) {
			s.calms.Take(b.queues, sample.At, sample.At.Add(sample.Took), true)
		}
	})
	if count != s.sampled {
		s.noteConsumers(sample.At)
		s.noteGets(b.queues, sample.At, sample.Counting())
	}
	s.sampled = count
	if !s.gets {
		s.closings.Take(b.links.Closing(s.calms.Sources, b.queues))
	}
}

// late reports whether the broker's collector of statistics lags.
func late(s *dedup.BrokerSample) bool {
	return slices.ContainsFunc(s.Problems, func(p dedup.Problem) bool { return p.Kind == "stats_late" })
}

// noteGets learns whether anybody takes messages by basic.get. Such a worker holds its delivery on a connection that is no
// consumer's, so that closed connections of consumers say nothing of it. The broker's own counters tell, whenever it was
// and however often we were restarted; they are late by sample.CounterLag.
func (s *storeQueues) noteGets(queues map[dedup.QueueRef]*dedup.Queue, at time.Time, counting bool) {
	positive := func(n *int64) bool { return n != nil && *n > 0 }
	s.gets = false
	for _, ref := range s.calms.Sources {
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

func (s *storeQueues) noteConsumers(at time.Time) {
	n, known := sample.SumOver(s.broker.queues, s.calms.Sources, func(q *dedup.Queue) *int64 { return q.Consumers })
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

// deadLetterQueues returns the dead-letter queues of every pipeline; nil unless all of them are known for sure.
func (s *storeQueues) deadLetterQueues() []dedup.QueueRef {
	var all []dedup.QueueRef
	for _, p := range s.users {
		if !p.dead.Found.Complete || len(p.dead.Targets) == 0 {
			return nil
		}
		for _, t := range p.dead.Targets {
			if !slices.Contains(all, t.QueueRef) {
				all = append(all, t.QueueRef)
			}
		}
		for _, t := range p.dead.Found.Targets {
			if !slices.Contains(all, t.QueueRef) {
				return nil
			}
		}
	}
	return all
}

// evidence is what the brokers say of all pipelines of the store, as of the start of the last pass: no marker of that pass
// was seen before, so that one which ended meanwhile is not taken for a dead one.
func (w *storeWatch) evidence(now time.Time, statuses map[string]*dedup.PipelineStatus) dedup.Evidence {
	e := dedup.Evidence{At: now.Round(0), SetsExpiry: w.setsExpiry}
	if stats, _ := w.stats.Get(); stats.Pass != nil {
		e.Met = stats.Met
		e.ClockOffset = stats.Pass.ClockOffset
		if stats.Pass.Started.Before(now) {
			e.At = stats.Pass.Started.Round(0)
		}
	}
	for _, p := range w.users {
		e.MaxProcessing = max(e.MaxProcessing, p.MaxProcessing)
		// Deliveries may be acked when they are sent, as far as the readings reach back.
		e.AutoAck = e.AutoAck || p.counted.Traffic.AutoAcked() || p.subscribers().AutoAcks()
		e.Redelivering = e.Redelivering || p.counted.Traffic.Redelivering(now)
		if st := statuses[p.Name]; st != nil {
			for _, window := range st.Windows {
				e.WorkP99 = max(e.WorkP99, time.Duration(window.WorkP99.Value*float64(time.Second)))
			}
		}
	}
	if e.Missing = w.missing(now); e.Missing != "" {
		return e
	}
	for i, s := range w.queues {
		s.testify(&e, i == 0)
	}
	return e
}

// missing says why the brokers give no evidence; empty when they do.
func (w *storeWatch) missing(now time.Time) string {
	if len(w.users) == 0 {
		return "no pipeline keeps its markers in this store"
	}
	for _, s := range w.queues {
		if why := source.WhyDown("broker "+name(s.broker.read.Name()), s.broker.read.Samples.Status(now)); why != "" {
			return why
		}
		t, _ := s.broker.read.Topology.Get()
		sample, _ := s.broker.read.Sample.Get()
		switch {
		case s.broker.index == nil && t.Err != "":
			return "how consumers ack cannot be read: " + t.Err
		case s.broker.index == nil:
			return "how consumers ack has not been read yet"
		case t.Topology.Consumers == nil && sample.Info.StatsDisabled:
			return "the broker's statistics are disabled, so that it does not tell whether consumers ack by hand"
		}
	}
	return ""
}

// testify adds what one broker says. A living owner holds its delivery on one of the brokers, so that moments of calm
// need not be common to them: the earlier of each two counts.
func (s *storeQueues) testify(e *dedup.Evidence, first bool) {
	var still sample.Stillness
	var last sample.Depths
	s.broker.read.Live.Locked(func() { still, last = s.calms.Until(e.At), s.calms.Last })
	closed := s.closings.Until(e.At, s.ungot)
	if first {
		e.NothingOut, e.Empty, e.DeadLetters = still.NothingOut, still.Empty, still.Dead
		e.Closed, e.ClosedSince, e.NoConsumersSince = closed.At, closed.Since, s.deserted
		e.Consumers, e.Ready, e.Unacked, e.DeadLettersNow = s.consumers, last.Ready, last.Unacked, last.Dead
		return
	}
	for i := range e.NothingOut {
		e.NothingOut[i] = earlier(e.NothingOut[i], still.NothingOut[i])
		e.Empty[i] = earlier(e.Empty[i], still.Empty[i])
	}
	e.ClosedSince = earlier(e.ClosedSince, closed.Since)
	if e.Closed.Before(closed.At) {
		e.Closed = closed.At
	}
	if e.NoConsumersSince = later(e.NoConsumersSince, s.deserted); s.deserted.IsZero() {
		e.NoConsumersSince = time.Time{}
	}
	e.Consumers, e.Ready, e.Unacked = both(e.Consumers, s.consumers), both(e.Ready, last.Ready), both(e.Unacked, last.Unacked)
	e.DeadLetters, e.DeadLettersNow = both(e.DeadLetters, still.Dead), both(e.DeadLettersNow, last.Dead)
}

// earlier returns the earlier of two times, zero when one of them is.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && a.Before(b)) {
		return a
	}
	return b
}

// later returns the later of two times, zero when one of them is.
func later(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && a.After(b)) {
		return a
	}
	return b
}

// both adds two numbers; nil when one is not known.
func both(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}
