package collector

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	restartSource  = "consumers listed by the broker"
	restartFormula = "consumers that ended and whose place another one took, per hour"
	// replacedWithin is how soon another consumer must come for the one that ended to count as restarted, and not as taken away.
	replacedWithin = 10 * time.Minute
	// maxGone bounds the ended consumers of a queue that may still be replaced.
	maxGone = 1000
)

// A consumerID tells one consumer from its successor: a channel's name holds the ports of its connection.
type consumerID struct{ channel, tag string }

// restarts follow the consumers of a pipeline's queues from one topology to the next.
type restarts struct {
	// version is that of the topology that was read last.
	version uint64
	// known: the newest topology told the consumers of every queue.
	known bool
	seen  map[dedup.QueueRef]map[consumerID]bool
	gone  map[dedup.QueueRef]departures
	burst event.Burst
}

// departures are the consumers of a queue that ended not long ago.
type departures map[consumerID]departure

// A departure is when a consumer was first missed, and whether another one has been counted as its successor.
type departure struct {
	at       time.Time
	replaced bool
}

// take compares the consumers with those of the topology before, and returns how many were replaced. Consumers that are not
// told, or not by name (rabbitmq-server issue 2684), say nothing: the last ones that were told stand.
func (r *restarts) take(refs []dedup.QueueRef, t *dedup.Topology) (replaced int64) {
	if r.known = t.Consumers != nil; !r.known {
		return 0
	}
	if r.seen == nil {
		r.seen, r.gone = make(map[dedup.QueueRef]map[consumerID]bool), make(map[dedup.QueueRef]departures)
	}
	now := make(map[dedup.QueueRef]map[consumerID]bool)
	nameless := make(map[dedup.QueueRef]bool)
	for _, c := range t.Consumers {
		if now[c.Queue] == nil {
			now[c.Queue] = make(map[consumerID]bool)
		}
		now[c.Queue][consumerID{c.Channel, c.Tag}] = true
		nameless[c.Queue] = nameless[c.Queue] || c.Channel == ""
	}
	for _, ref := range refs {
		if nameless[ref] {
			continue
		}
		was, told := r.seen[ref]
		r.seen[ref] = now[ref]
		if told {
			replaced += r.compare(ref, was, now[ref], t.At)
		}
	}
	return replaced
}

// compare counts the consumers of a queue that took the place of one that ended not long ago. One that is listed again under
// its own name never ended: lists leave consumers out where a node restarts its statistics, or is cut off.
func (r *restarts) compare(ref dedup.QueueRef, was, is map[consumerID]bool, at time.Time) (replaced int64) {
	gone := r.gone[ref]
	if gone == nil {
		gone = make(departures)
		r.gone[ref] = gone
	}
	maps.DeleteFunc(gone, func(_ consumerID, d departure) bool { return at.Sub(d.at) > replacedWithin || d.at.After(at) })
	for id := range was {
		if !is[id] && len(gone) < maxGone {
			gone[id] = departure{at: at}
		}
	}
	newcomers, unpaired := 0, 0
	for id := range is {
		if was[id] {
			continue
		}
		d, back := gone[id]
		if !back {
			newcomers++
			continue
		}
		delete(gone, id)
		if d.replaced { // its successor took the place of another one, and is counted
			unpaired++
		}
	}
	gone.replace(unpaired)
	return int64(gone.replace(newcomers))
}

// replace notes that up to n of those who left have a successor, those who left first before others, and returns how many.
func (gone departures) replace(n int) int {
	if n == 0 {
		return 0
	}
	open := make([]consumerID, 0, len(gone))
	for id, d := range gone {
		if !d.replaced {
			open = append(open, id)
		}
	}
	slices.SortFunc(open, func(a, b consumerID) int { return gone[a].at.Compare(gone[b].at) })
	open = open[:min(n, len(open))]
	for _, id := range open {
		gone[id] = departure{at: gone[id].at, replaced: true}
	}
	return len(open)
}

// followConsumers takes the newest topology, if there is one.
func (p *pipeline) followConsumers() {
	t, version := p.broker.topology.Get()
	if version == p.restarts.version || t.topology.At.IsZero() {
		return
	}
	p.restarts.version = version
	if t.err != "" { // the topology is an old one
		p.restarts.known = false
		return
	}
	n := p.restarts.take(p.refs, &t.topology)
	p.restarted.Open = p.restarted.Open || p.restarts.known
	p.restarted.Total += float64(n)
	p.noteRestarts(n, t.topology.At)
}

// noteRestarts tells of restarts: of the first at once, and of those of the next minutes together when these are over.
func (p *pipeline) noteRestarts(n int64, at time.Time) {
	const kind = "consumer_restart"
	r := &p.restarts
	if more, from, last := r.burst.Close(at); more > 0 {
		p.events.AddCounted(last, kind, more, fmt.Sprintf("%s %s restarted from %s to %s", counted(more, "more consumer"), verb(more, "was", "were"), from.UTC().Format("15:04"), clock(last, at)))
	}
	if n > 0 && r.burst.Add(n, at) {
		p.events.AddCounted(at, kind, n, fmt.Sprintf("%s %s restarted: others took their place", counted(n, "consumer"), verb(n, "was", "were")))
	}
}

// A restartSample is what the figure of consumer restarts is computed from.
type restartSample struct {
	Window time.Duration
	// Why says why they cannot be told; empty when they can.
	Why       string
	Restarted sample.Increase
	// Closed are the channels that were closed in the whole broker; Blind is true where it does not count them.
	Closed sample.Increase
	Blind  bool
}

// restartFigure computes the consumer restarts per hour.
func restartFigure(s restartSample) dedup.Figure {
	f := dedup.Unknown(dedup.PerHour, s.Why)
	f.Window, f.Source, f.Formula = s.Window, restartSource, restartFormula
	switch {
	case s.Why != "":
	case !s.Restarted.Known || s.Restarted.Covered < figure.ShortestRate:
		f.Why = "the history holds too little of this window yet"
	default:
		v := s.Restarted.Delta / s.Restarted.Covered.Hours()
		f.Quality, f.Value, f.Low, f.High, f.N = dedup.Derived, v, v, v, s.Restarted.Delta
		f.Covered, f.At = s.Restarted.Covered, s.Restarted.At
		// While no channel is closed no consumer can come back as another one.
		if s.Blind || !s.Closed.Known || s.Closed.Delta > 0 {
			f.AtLeast, f.Why = true, "at least: consumers are listed every few minutes and when channels were closed; of one that restarts several times in between, one restart is seen"
		}
	}
	return f
}

func (c *Collector) consumerRestarts(p *pipeline, w time.Duration) dedup.Figure {
	s := restartSample{Window: w, Restarted: c.past.Gain(w, p.restarted), Closed: c.past.Gain(w, p.broker.closures), Blind: p.broker.closed.State != sample.Counting}
	t, _ := p.broker.topology.Get()
	switch {
	case t.err != "":
		s.Why = "consumers cannot be listed: " + t.err
	case t.topology.At.IsZero():
		s.Why = "consumers have not been listed yet"
	case !p.restarts.known:
		s.Why = "the broker does not list consumers: its statistics are disabled, or the watching account may not see them"
	}
	return restartFigure(s)
}
