// Package consumer follows the consumers of a pipeline: how many there are, what they may hold, and which were restarted or held a delivery for too long.
package consumer

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
)

// The kinds of events.
const (
	kindChanged = "consumers_changed"
	kindRestart = "consumer_restart"
	kindTimeout = "ack_timeout"
)

// A Watch follows the consumers of the source queues of one pipeline. It belongs to the round.
type Watch struct {
	refs   []dedup.QueueRef
	events *event.Log
	// n is the newest number of consumers that is known.
	n     int64
	known bool
	// version is that of the topology that was read last.
	version             uint64
	restarts            restarts
	burst               event.Burst
	restarted, timeouts *counter.Tally
	deserted            map[dedup.QueueRef]finding.Desertion
}

// NewWatch follows the consumers of some queues, and tells of them in a log.
func NewWatch(pipeline string, refs []dedup.QueueRef, b *counter.Book, events *event.Log) *Watch {
	return &Watch{refs: refs, events: events, restarted: b.Tally(series.ConsumerRestarts, "pipeline", pipeline), timeouts: b.Tally(series.AckTimeouts, "pipeline", pipeline),
		deserted: make(map[dedup.QueueRef]finding.Desertion)}
}

// Note takes how many consumers a reading told, where it told all.
func (w *Watch) Note(n int64, known bool, at time.Time) {
	if known && w.known && n != w.n {
		w.events.Add(at, kindChanged, fmt.Sprintf("Consumers went from %s to %s", text.Grouped(w.n), text.Grouped(n)))
	}
	if known {
		w.n, w.known = n, true
	}
}

// None reports whether it is known that there are none.
func (w *Watch) None() bool { return w.known && w.n == 0 }

// NoteQueues takes a fresh list of queues, to see which of the source queues nobody consumes.
func (w *Watch) NoteQueues(queues map[dedup.QueueRef]*dedup.Queue, at time.Time) {
	for _, ref := range w.refs {
		d := w.deserted[ref]
		d.Observe(queues[ref], at)
		w.deserted[ref] = d
	}
}

// NoteTimeouts counts what the newest sample told of ack timeouts of the source queues.
func (w *Watch) NoteTimeouts(t *Timeouts, at time.Time) { t.count(w.refs, w.timeouts, w.events, at) }

// Follow takes the newest topology, unless it was taken before; unread says why it is an old one, empty when it is not.
func (w *Watch) Follow(t *dedup.Topology, version uint64, unread string) {
	if version == w.version || t.At.IsZero() {
		return
	}
	w.version = version
	if unread != "" {
		w.restarts.known = false
		return
	}
	n := w.restarts.take(w.refs, t)
	w.restarted.Open = w.restarted.Open || w.restarts.known
	w.restarted.Total += float64(n)
	w.noteRestarts(n, t.At)
}

// noteRestarts tells of restarts: of the first at once, and of those of the next minutes together when these are over.
func (w *Watch) noteRestarts(n int64, at time.Time) {
	if more, from, last := w.burst.Close(at); more > 0 {
		w.events.AddCounted(last, kindRestart, more, fmt.Sprintf("%s %s restarted from %s to %s", text.Counted(more, "more consumer"), text.Agree(more, "was", "were"), from.UTC().Format("15:04"), text.Clock(last, at)))
	}
	if n > 0 && w.burst.Add(n, at) {
		w.events.AddCounted(at, kindRestart, n, fmt.Sprintf("%s %s restarted: others took their place", text.Counted(n, "consumer"), text.Agree(n, "was", "were")))
	}
}

// Findings are the source queues that nobody consumes.
func (w *Watch) Findings() []dedup.Finding {
	var out []dedup.Finding
	for _, ref := range w.refs {
		out = append(out, finding.NoConsumers(ref.Name, w.deserted[ref])...)
	}
	return out
}

// Store adds what is stored: t are the timeouts of the broker.
func (w *Watch) Store(into counter.Batch, t *Timeouts) {
	if t.Followed() {
		into.Tallies(w.timeouts)
	}
	if w.restarts.known {
		into.Tallies(w.restarted)
	}
}

// Timeouts is the figure of the ack timeouts.
func (w *Watch) Timeouts(t *Timeouts, past *counter.Past, info dedup.BrokerInfo, ix *topology.Index, now time.Time, span time.Duration) dedup.Figure {
	return t.Figure(past, w.timeouts, info, ix, now, span)
}

// Restarts is the figure of the consumer restarts, of which s holds what the broker tells, and t the newest topology.
func (w *Watch) Restarts(s figure.Restarts, past *counter.Past, t *dedup.Topology, unread string) dedup.Figure {
	s.Restarted = past.Gain(s.Window, w.restarted)
	switch {
	case unread != "":
		s.Why = "consumers cannot be listed: " + unread
	case t.At.IsZero():
		s.Why = "consumers have not been listed yet"
	case !w.restarts.known:
		s.Why = "the broker does not list consumers: its statistics are disabled, or the watching account may not see them"
	}
	return s.Figure()
}
