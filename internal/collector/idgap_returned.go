package collector

import (
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// cameBack bounds what came back in a window, and might be of messages that consumers had since reach.
func (p *pipeline) cameBack(reach, from, to time.Time) rate.Returns {
	c := rate.UnboundedReturns()
	c.Count(p.frames, p.own, p.prefetches.Since, reach, from, to)
	if redelivered, ok := p.flows.Redelivered(from, to); ok {
		// What was unacked when the window began may have been redelivered before, and inserted since.
		c.Redelivered = redelivered + p.unackedAround(from)
	}
	return c
}

// leftUndone bounds the messages that left a row undone behind and came back between two counts of inserts: a dead letter must be taken out, a channel
// that is closed leaves no more than it had in work, each with its row, a failed row whose message is not among the dead letters may have been
// returned, and what waited at the begin may have come back before. It rests on this: each dead letter that came meanwhile is of a failed row.
func (p *pipeline) leftUndone(s rate.IDGap, several string) float64 {
	perChannel := rate.Residual{Scheme: s.Scheme, Several: several, Prefetch: p.prefetches.Since(s.From.At)}.LostPerChannel()
	frames := p.frames
	first, okFirst := frames.Before(s.From.At)
	last, okLast := frames.After(s.To.Last.Add(sample.CounterLag))
	if perChannel <= 0 || !okFirst || !okLast || first.Blind {
		return math.Inf(1)
	}
	closed, known := p.own.Most(first, last)
	if !known {
		closed = math.Inf(1)
	}
	if g, ok := p.flows.Between(s.From.At, s.To.Last.Add(sample.LateCounts)); ok {
		closed = min(closed, g.Closed)
	}
	waiting := p.waitingAround(s.From.At)
	return min(closed*float64(perChannel)+waiting, s.Stuck(waiting)) + p.returned(s, last)
}

// waitingAround is the most messages that were in the source queues or unacked at about a time; +Inf where the queues were not read shortly before.
func (p *pipeline) waitingAround(at time.Time) float64 {
	waiting := max(p.depthAt(at), p.unackedAround(at))
	for _, f := range p.frames.Span(at.Add(-depthAround), at.Add(depthAround)) {
		waiting = max(waiting, f.Depth)
	}
	return waiting
}

// depthAt is how many messages the source queues held at a time, by the readings before and after it; +Inf where there is none shortly before.
func (p *pipeline) depthAt(at time.Time) float64 {
	f, ok := p.frames.Before(at)
	if !ok || f.Blind || at.Sub(f.DepthFrom) > 2*depthAround {
		return math.Inf(1)
	}
	if next, ok := p.frames.After(at); ok && next.DepthFrom.Sub(at) <= depthAround {
		return max(f.Depth, next.Depth)
	}
	return f.Depth
}

// returned bounds the messages whose work failed or that were dead letters, and that came back until a frame.
func (p *pipeline) returned(s rate.IDGap, last *sample.Frame) float64 {
	frames := p.frames
	reached, ok := frames.Before(s.Reach.At)
	if !ok {
		reached = &frames[0]
	}
	if !p.found.Complete || reached.DeadGaps != last.DeadGaps {
		return math.Inf(1) // dead letters may have been taken that nobody counted
	}
	taken := last.DeadSettled - reached.DeadSettled
	failed := 0.0
	if s.Scheme.OnFail != "ack" {
		failed = float64(s.To.Failed - s.From.Failed)
		if !p.diesUnaided() {
			failed = max(0, failed-frames.DeadLetteredLeast(s.From.At.Add(p.MaxProcessing), s.To.At))
		}
	}
	return failed + taken
}

// diesUnaided reports whether messages of a source queue can become dead letters without a consumer's doing.
func (p *pipeline) diesUnaided() bool {
	return slices.ContainsFunc(p.refs, func(ref dedup.QueueRef) bool {
		q := p.broker.queues[ref]
		return q == nil || topology.DiesUnaided(q, "")
	})
}

// depthAround is how far from a time the depths may lie that bound what waited then.
const depthAround = 15 * time.Second
