package collector

import (
	"time"

	"dedup-dashboard/internal/collector/consumer"
	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/effect"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/window"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// A pipeline is what the collector keeps of one pipeline from round to round. It belongs to the round.
type pipeline struct {
	dedup.Pipeline
	refs   []dedup.QueueRef
	broker *brokerWatch // nil when the configuration names none that exists
	store  *storeWatch  // nil for a scheme without markers
	report *reportWatch // nil when nothing can be reported
	// counted is what its figures are made of.
	counted window.Pipeline
	// effects is nil where no effect check is configured.
	effects *effect.Watch
	// live reads the live counts of its broker, joint joins them with the store's, and flow takes them alone; nil where there are none.
	live  *liveWatch
	joint *jointPair
	flow  *flowPair

	publishes, acks, deliveries, redeliveries, autoAcks, arrived *counter.Tally

	reported   reported
	queues     map[dedup.QueueRef]*queueCounters
	gaps, gets float64
	// entered and its gaps are those of a frame.
	entered, enteredGaps float64
	consumers            *consumer.Watch
	dead                 deadletter.Watch
	lastActivity         time.Time
	events               event.Log
	spark                spark
}

// queueCounters are the raw counters of one source queue.
type queueCounters struct {
	node                                                          string
	publish, deliver, get, redeliver, ack, deliverNoAck, getNoAck sample.Counter
	entered                                                       enteredCounter
}

func (q *queueCounters) all() []*sample.Counter {
	return []*sample.Counter{&q.publish, &q.deliver, &q.get, &q.redeliver, &q.ack, &q.deliverNoAck, &q.getNoAck}
}

// awaitBirth notes that the queue does not exist: its counters will be born at 0.
func (q *queueCounters) awaitBirth() {
	for _, raw := range q.all() {
		if raw.State == sample.Unseen {
			raw.Observe(nil)
		}
	}
}

func newPipeline(p dedup.Pipeline, b *counter.Book) *pipeline {
	total := func(metric string) *counter.Tally { return b.Tally(metric, "pipeline", p.Name) }
	out := &pipeline{
		Pipeline: p, counted: window.Pipeline{Config: p}, publishes: total(series.BrokerPublishes), acks: total(series.BrokerAcks),
		deliveries: total(series.BrokerDeliveries), redeliveries: total(series.BrokerRedeliveries),
		autoAcks: total(series.BrokerAutoAcks), arrived: total(series.DeadLettersArrived),
		reported: newReported(b, p.Name),
		queues:   make(map[dedup.QueueRef]*queueCounters),
	}
	for _, q := range p.Queues {
		out.refs = append(out.refs, dedup.QueueRef{Vhost: p.Vhost, Name: q})
	}
	out.dead, out.consumers = deadletter.NewWatch(p, out.refs), consumer.NewWatch(p.Name, out.refs, b, &out.events)
	return out
}

// absorbReported takes one reading of the reported counters.
func (p *pipeline) absorbReported(r dedup.Reported, at time.Time) {
	p.counted.Exports.Absorb(r.Exports)
	acked, dropped := p.reported.absorb(r, at)
	p.acked(acked, at)
	if dropped {
		p.events.AddSpaced(at, "counter_reset", "The counters that consumers report were reset")
	}
}

// acked notes when a message was last seen to be acked. Deliveries alone are no progress: a message that cannot proceed is
// delivered again and again.
func (p *pipeline) acked(some bool, at time.Time) {
	if some && at.After(p.lastActivity) {
		p.lastActivity = at
	}
}

// absorbSample takes one sample of the broker: counters, depths, dead letters.
func (p *pipeline) absorbSample(s *source.BrokerReading) {
	counting := s.Counting()
	f := sample.Frame{Began: s.At, Ended: s.At.Add(s.Took), Unpublished: counting, EnteredKnown: counting, Unentered: counting}
	dropped, unborn := false, 0
	consumers, consumersKnown := int64(0), true
	for _, ref := range p.refs {
		q := p.broker.queues[ref]
		if counting {
			dropped = p.countQueue(ref, q, s.At) || dropped
			p.takeEntered(&f, ref, q)
			f.Unpublished = f.Unpublished && p.queues[ref].publish.State == sample.Absent
		}
		if q == nil && p.broker.complete {
			unborn++
		}
		if q == nil || q.Consumers == nil {
			consumersKnown = false
		} else {
			consumers += *q.Consumers
		}
	}
	f.Unborn = unborn == len(p.refs)
	f.Consumers, f.ConsumersKnown = float64(consumers), consumersKnown
	p.consumers.Note(consumers, consumersKnown, s.At)
	if !s.Late() {
		p.consumers.NoteQueues(p.broker.queues, s.At)
	}
	p.consumers.NoteTimeouts(&p.broker.timeouts, s.At)
	if dropped {
		p.gaps++
		p.events.AddSpaced(s.At, "counter_reset", "The broker's counters of the pipeline's queues were reset")
	}
	p.measureDepths(&f, s)
	p.notePrefetch(s.At)
	f.Acks, f.Redeliveries, f.Deliveries = p.acks.Total, p.redeliveries.Total, p.deliveries.Total
	f.AutoAcks, f.Publishes, f.Gaps, f.Gets = p.autoAcks.Total, p.publishes.Total, p.gaps, p.gets
	f.Entered, f.EnteredGaps = p.entered, p.enteredGaps+p.gaps
	f.ReportedDuplicates = p.reported.duplicates()
	f.Closures, f.ClosureGaps, f.ClosuresBlind = p.broker.closures.Total, p.broker.closureGaps, p.broker.closed.State != sample.Counting
	f.Held = p.broker.read.Live.Of(p.Name)
	p.counted.Traffic.Frames.Add(f)
}

// countQueue takes the counters of one source queue; q is nil when the broker does not list it. It reports whether
// events may have been dropped.
func (p *pipeline) countQueue(ref dedup.QueueRef, q *dedup.Queue, at time.Time) (dropped bool) {
	c, ok := p.queues[ref]
	if !ok {
		c = &queueCounters{}
		p.queues[ref] = c
	}
	if q == nil || (c.node != "" && q.Node != "" && q.Node != c.node) {
		for _, raw := range c.all() {
			if raw.State == sample.Counting || (raw.State == sample.Absent && !p.broker.complete) {
				dropped = raw.Lose().Dropped || dropped
			}
		}
	}
	if q == nil {
		if p.broker.complete && !dropped {
			c.awaitBirth()
		}
		return dropped
	}
	if q.Node != "" {
		c.node = q.Node
	}
	take := func(raw *sample.Counter, value *int64, t *counter.Tally) sample.Step {
		// A first value above 0 counts events of the time before, some of which may be later than the first frame.
		late := raw.State == sample.Unseen && value != nil && *value > 0 && len(p.counted.Traffic.Frames) > 0
		st := raw.ObserveFrom(value, p.broker.moved)
		dropped = dropped || st.Dropped || late
		if raw.Known() {
			t.Take(st)
		}
		p.acked((t == p.acks || t == p.autoAcks) && st.Delta > 0, at)
		return st
	}
	n := q.Counters
	take(&c.publish, n.Publish, p.publishes)
	take(&c.ack, n.Ack, p.acks)
	take(&c.deliver, n.Deliver, p.deliveries)
	p.gets += float64(take(&c.get, n.Get, p.deliveries).Delta)
	take(&c.redeliver, n.Redeliver, p.redeliveries)
	take(&c.deliverNoAck, n.DeliverNoAck, p.autoAcks)
	take(&c.getNoAck, n.GetNoAck, p.autoAcks)
	return dropped
}

// notePrefetch remembers the most deliveries that one channel of the pipeline's consumers may hold, and all of them together.
func (p *pipeline) notePrefetch(at time.Time) {
	listed := p.subscribers()
	p.counted.Traffic.Prefetches.Add(at, listed.ChannelBound())
	all := listed.Capacity(p.refs, p.broker.queues)
	if all == 0 && !p.consumers.None() {
		all = sample.Unbounded
	}
	p.counted.Traffic.Capacities.Add(at, all)
}

// subscribers are the consumers of the source queues, as the newest topology told them.
func (p *pipeline) subscribers() consumer.List { return consumer.Of(p.refs, p.broker.consumers) }
