package collector

import (
	"time"

	"dedup-dashboard/internal/collector/consumer"
	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/effect"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/queue"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/window"
	"dedup-dashboard/internal/dedup"
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
	// live reads the live counts of its broker, where the store tells of its events; flow is what comes of them. Both are nil where there are none.
	live *source.LiveSource
	flow *source.Flow

	counts       queue.Counts
	reported     reported
	consumers    *consumer.Watch
	dead         deadletter.Watch
	lastActivity time.Time
	events       event.Log
	spark        figure.Spark
}

func newPipeline(p dedup.Pipeline, b *counter.Book) *pipeline {
	out := &pipeline{Pipeline: p, counted: window.Pipeline{Config: p}, reported: newReported(b, p.Name)}
	for _, q := range p.Queues {
		out.refs = append(out.refs, dedup.QueueRef{Vhost: p.Vhost, Name: q})
	}
	out.counts = queue.NewCounts(p.Name, out.refs, b)
	out.dead, out.consumers = deadletter.NewWatch(p, out.refs, b), consumer.NewWatch(p.Name, out.refs, b, &out.events)
	return out
}

// absorbReported takes one reading of the reported counters.
func (p *pipeline) absorbReported(r dedup.Reported, at time.Time) {
	p.counted.Exports.Observe(r.Exports)
	acked, dropped := p.reported.observe(r, at)
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
	b, f := p.broker, sample.Frame{Began: s.At, Ended: s.At.Add(s.Took)}
	dropped, acked := p.counts.Observe(&f, queue.Reading{At: s.At, Queues: b.queues, Complete: b.complete, By: b.by, Counting: s.Counting(), Later: len(p.counted.Traffic.Frames) > 0})
	p.acked(acked, s.At)
	p.consumers.Note(int64(f.Consumers), f.ConsumersKnown, s.At)
	if !s.Late() {
		p.consumers.NoteQueues(b.queues, s.At)
	}
	p.consumers.NoteTimeouts(&b.timeouts, s.At)
	if dropped {
		p.events.AddSpaced(s.At, "counter_reset", "The broker's counters of the pipeline's queues were reset")
	}
	p.measureDepths(&f, s)
	p.notePrefetch(s.At)
	f.ReportedDuplicates = p.reported.duplicates()
	f.Closures, f.ClosureGaps, f.ClosuresBlind = b.closures.Total, b.closureGaps, b.closed.State != sample.Counting
	f.Held = b.read.Live.Of(p.Name)
	p.counted.Traffic.Frames.Add(f)
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
