// Package deadletter follows the dead-letter queues of a pipeline: which they are, what arrives in them, whose it is and how long it waits.
package deadletter

import (
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// A Broker is what the newest readings of a broker tell of its queues.
type Broker struct {
	Name   string
	Queues map[dedup.QueueRef]*dedup.Queue
	// At is when the queues were listed, Live are the depths that their own processes told shortly before.
	At   time.Time
	Live sample.LiveDepths
	// Complete: the newest list of queues hides none. Born is when a queue was first listed, of those that the complete list before did not have.
	Complete bool
	Born     map[dedup.QueueRef]time.Time
	// Index is nil until the topology was read, Unread says why it cannot be.
	Index  *topology.Index
	Unread string
	// By says who tells the counters of the queues.
	By     sample.Witness
	Shared Sharing
}

// A Watch follows the dead-letter queues of one pipeline from round to round. It belongs to the round.
type Watch struct {
	pipeline dedup.Pipeline
	sources  []dedup.QueueRef
	// Targets are the dead-letter queues, Found is how the newest topology led there.
	Targets []topology.Target
	Found   topology.Discovery
	queues  map[dedup.QueueRef]*queue
	arrived *counter.Tally
	keeps   Keeping
	// gaps are those of a frame.
	gaps float64
}

// NewWatch follows the dead letters of a pipeline with these source queues.
func NewWatch(p dedup.Pipeline, sources []dedup.QueueRef, b *counter.Book) Watch {
	return Watch{pipeline: p, sources: sources, arrived: b.Tally(series.DeadLettersArrived, "pipeline", p.Name)}
}

// Discover finds the dead-letter queues, and reports whether others were known before.
func (w *Watch) Discover(ix *topology.Index) (changed bool) {
	w.Found = topology.Discover(ix, w.sources, topology.Pinned(w.pipeline))
	targets := topology.Targets(w.pipeline, w.Found)
	if changed = len(w.Targets) > 0 && !sameTargets(w.Targets, targets); changed {
		w.gaps++ // what was dead-lettered before cannot be compared with what is counted now
	}
	w.Targets = targets
	return changed
}

func sameTargets(a, b []topology.Target) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].QueueRef != b[i].QueueRef {
			return false
		}
	}
	return true
}

// Refs are the dead-letter queues.
func (w *Watch) Refs() []dedup.QueueRef {
	refs := make([]dedup.QueueRef, len(w.Targets))
	for i, t := range w.Targets {
		refs[i] = t.QueueRef
	}
	return refs
}

// Findings are the hazards on the way of the dead letters and in their queues, for a broker of a version.
func (w *Watch) Findings(b Broker, version string) []dedup.Finding {
	var out []dedup.Finding
	out = append(out, w.Found.Findings...)
	out = append(out, topology.PolicyUnknown(w.sources, b.Queues)...)
	out = append(out, topology.NoExchange(w.sources, b.Queues, len(w.pipeline.DeadLetterQueues) > 0)...)
	for _, t := range w.Targets {
		if q := b.Queues[t.QueueRef]; q != nil {
			out = append(out, finding.DeadLetterConsumers(t.Name, q.Consumers)...)
			out = append(out, topology.Drops(q)...)
			out = append(out, topology.Limits(q, version)...)
		}
	}
	return out
}

// Store adds what is stored of the dead letters: the depth of a shared queue is none of the pipeline.
func (w *Watch) Store(into counter.Batch, b Broker) {
	into.Tallies(w.arrived)
	for _, t := range w.Targets {
		if b.Shared.Of(t.QueueRef) == nil {
			into.Figure(series.DeadLetters, Depth(t.QueueRef, b).Depth, "pipeline", w.pipeline.Name, "vhost", t.Vhost, "queue", t.Name)
		}
	}
}
