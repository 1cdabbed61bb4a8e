package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/collector/evidence"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// A storeQueues is what a store keeps of the queues of one broker whose messages have their markers in it.
type storeQueues struct {
	broker *brokerWatch
	told   *evidence.Queues
}

// findQueues groups the pipelines of the store by broker.
func (w *storeWatch) findQueues() {
	for _, p := range w.users {
		i := slices.IndexFunc(w.queues, func(s storeQueues) bool { return s.broker == p.broker })
		if i < 0 {
			i = len(w.queues)
			w.queues = append(w.queues, storeQueues{p.broker, &evidence.Queues{}})
			p.broker.read.Live.Tell(w.queues[i].told)
		}
		w.queues[i].told.Follow(p.refs, &p.dead)
	}
}

// observe takes the newest sample and topology of the broker.
func (s storeQueues) observe(now time.Time) {
	b := s.broker
	read, count := b.read.Sample.Get()
	if count == 0 {
		return
	}
	s.told.Observe(evidence.Reading{Count: count, Queues: b.queues, At: read.At, Took: read.Took, Counting: read.Counting(),
		Alone: !b.read.Totals.Status(now).OK && !read.Late()}, &b.links)
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
		s.told.Testify(&e, i == 0)
	}
	return e
}

// missing says why the brokers give no evidence; empty when they do.
func (w *storeWatch) missing(now time.Time) string {
	if len(w.users) == 0 {
		return "no pipeline keeps its markers in this store"
	}
	for _, s := range w.queues {
		if why := source.WhyDown("broker "+text.Name(s.broker.read.Name()), s.broker.read.Samples.Status(now)); why != "" {
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
