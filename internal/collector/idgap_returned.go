package collector

import (
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// A comeback bounds the inserts of a window by deliveries of messages that consumers had before: each was redelivered, or somebody took it
// out of a dead-letter queue and sent it again. What nothing bounds is +Inf.
type comeback struct {
	// All bounds them by the counts since an earlier time.
	All float64
	// Redelivered bounds those that were redelivered, by the live counts of the window.
	Redelivered float64
	// Taken are the dead letters that were taken out, and may have been sent again.
	Taken float64
	// Left bounds those whose work was left undone, by channels that were closed or by a failure, and that are no dead letters, or were taken out.
	Left float64
}

// unboundedComeback is what a broker tells that was not read.
func unboundedComeback() comeback {
	inf := math.Inf(1)
	return comeback{All: inf, Redelivered: inf, Taken: inf, Left: inf}
}

// taken is Taken, and 0 where nothing bounds it.
func (c comeback) taken() float64 {
	if math.IsInf(c.Taken, 1) {
		return 0
	}
	return c.Taken
}

// cameBack bounds what came back in a window, and might be of messages that consumers had since reach.
func (p *pipeline) cameBack(reach, from, to time.Time) comeback {
	c := unboundedComeback()
	c.countFrames(p, reach, from, to)
	if redelivered, ok := p.redeliveredLive(from, to); ok {
		// What was unacked when the window began may have been redelivered before, and inserted since.
		c.Redelivered = redelivered + p.unackedAround(from)
	}
	return c
}

// leftUndone bounds the messages that left a row undone behind and came back between two counts of inserts: a dead letter must be taken out, a channel
// that is closed leaves no more than it had in work, each with its row, a failed row whose message is not among the dead letters may have been
// returned, and what waited at the begin may have come back before. It rests on this: each dead letter that came meanwhile is of a failed row.
func (p *pipeline) leftUndone(s idGapSample, several string) float64 {
	perChannel := residualSample{Scheme: s.Scheme, Several: several, Prefetch: p.prefetchSince(s.From.At)}.lostPerChannel()
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
	if g, ok := p.flows.between(s.From.At, s.To.Last.Add(lateCounts)); ok {
		closed = min(closed, g.Closed)
	}
	waiting := p.waitingAround(s.From.At)
	return min(closed*float64(perChannel)+waiting, s.stuck(waiting)) + p.returned(s, last)
}

// waitingAround is the most messages that were in the source queues or unacked at about a time.
func (p *pipeline) waitingAround(at time.Time) float64 {
	waiting := p.unackedAround(at)
	for _, f := range p.frames.Span(at.Add(-depthAround), at.Add(depthAround)) {
		waiting = max(waiting, f.Depth)
	}
	return waiting
}

// returned bounds the messages whose work failed or that were dead letters, and that came back until a frame.
func (p *pipeline) returned(s idGapSample, last *sample.Frame) float64 {
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

// stuck bounds the messages whose row says that work never ended.
func (s idGapSample) stuck(waiting float64) float64 {
	return max(0, float64(s.To.Undone-s.To.Failed-s.From.Undone+s.From.Failed)) + s.stuckBefore(waiting)
}

// stuckBefore bounds those of rows from before the window: no more came back in it than waited when it began.
func (s idGapSample) stuckBefore(waiting float64) float64 {
	return min(max(0, float64(s.From.Undone-s.Reach.Undone))+s.Unreached, waiting)
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

// countFrames bounds what came back by the counters of the broker's readings, as far as they vouch for all dead letters. A channel that dies
// takes the counts of its redeliveries along, but no more came back by its death than it held.
func (c *comeback) countFrames(p *pipeline, reach, from, to time.Time) {
	frames := p.frames
	last, ok := frames.After(to.Add(sample.CounterLag))
	if !ok {
		return
	}
	first, more := frames.WholeSince(reach, last)
	if first == nil || first.Ended.After(from) || first.DeadGaps != last.DeadGaps {
		return
	}
	c.Taken = last.DeadSettled - first.DeadSettled + more
	closed, known := p.own.Most(first, last)
	prefetch := p.prefetchSince(first.Began)
	if !known || first.Gaps != last.Gaps || closed > 0 && (prefetch <= 0 || first.Gets != last.Gets) {
		return
	}
	c.All = last.Redeliveries - first.Redeliveries + closed*float64(max(prefetch, 0)) + c.Taken
}

// lateCounts is how long the broker's live counts may take to tell what a closed channel took along.
const lateCounts = 10 * time.Second

// redeliveredLive is what live counts tell of a window, and of what they told a little later.
func (p *pipeline) redeliveredLive(from, to time.Time) (float64, bool) {
	g, ok := p.flows.between(from, to)
	if !ok {
		return 0, false
	}
	for i := range p.flows.readings {
		at := p.flows.readings[i].At
		if at.Before(to) || at.Sub(to) > lateCounts {
			continue
		}
		if late, ok := p.flows.between(from, at.Add(-time.Nanosecond)); ok {
			g.Redelivered = max(g.Redelivered, late.Redelivered)
		}
	}
	return g.Redelivered, true
}
