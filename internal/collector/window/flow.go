package window

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// depthAround is how far from a time the depths may lie that bound what waited then.
const depthAround = 15 * time.Second

// between bounds what the broker did between two times: by live counts, else by the counters of the management API.
func (t *Traffic) between(from, to time.Time) (sample.Gain, bool) {
	g, ok := t.Flows.Between(from, to)
	if !ok {
		g, ok = rate.GainBetween(t.Frames, t.Own, from, to)
	}
	g.Taken = rate.TakenBetween(t.Frames, from, to)
	return g, ok
}

// unackedAround is the most deliveries that were unacked at a time: no more than consumers may hold, nor than a little before with what was
// delivered since and not acked. Where nothing bounds them it is what was seen at about that time. The broker's samples are seconds old and miss
// bursts: what live counts show to have been delivered and not acked since any moment shortly before is believed too.
func (t *Traffic) unackedAround(at time.Time) float64 {
	const about = depthAround
	most, seen := math.Inf(1), 0.0
	if capacity := t.Capacities.Since(at.Add(-about)); capacity > 0 { // who could hold more may have left since
		most = float64(capacity)
	}
	best := most
	span := t.Frames.Span(at.Add(-about), at.Add(about))
	for i := range span {
		f := &span[i]
		seen = max(seen, f.Unacked)
		if g, ok := t.Flows.Between(f.DepthFrom, at); ok && !f.Blind && f.Ended.Before(at) {
			best = min(best, f.Unacked+g.Delivered[1]-g.Acked[0])
		}
	}
	if math.IsInf(best, 1) {
		best = seen
	}
	return min(most, max(best, t.Flows.Piled(at, about)), t.Flows.OutAt(at)) + 1
}

// unackedEnds bounds what was unacked at both ends of each stretch, added up; nil where that is not known.
func (t *Traffic) unackedEnds(stretches []estimate.Stretch) *[2]float64 {
	var ends [2]float64
	for _, s := range stretches {
		begun, okBegun := t.mostUnacked(s.From)
		ended, okEnded := t.mostUnacked(s.To)
		if !okBegun || !okEnded {
			return nil
		}
		ends[0], ends[1] = ends[0]+begun, ends[1]+ended
	}
	return &ends
}

// mostUnacked bounds what was unacked at a time: what the broker's samples saw at about then, and what was unacked at the least shortly
// before with all that was delivered since and not acked, as live counts tell. Samples may be of depths that were taken sample.DepthLag before.
func (t *Traffic) mostUnacked(at time.Time) (float64, bool) {
	const about = depthAround
	if n := len(t.Flows.Readings); n == 0 || t.Flows.Readings[0].At.After(at.Add(-about)) || t.Flows.Readings[n-1].At.Before(at) {
		return 0, false
	}
	least, most := math.Inf(1), math.Inf(-1)
	span := t.Frames.Span(at.Add(-about), at)
	for i := range span {
		if f := &span[i]; !f.Blind {
			least, most = min(least, f.Unacked), max(most, f.Unacked)
		}
	}
	if math.IsInf(least, 1) {
		return 0, false
	}
	// Acks may come at once with the time: it is the reading of that very moment that tells, and the next one.
	most = max(most, least+max(t.Flows.Piled(at.Add(-1), about+sample.DepthLag), t.Flows.Piled(at, about+sample.DepthLag))) + 1
	return min(most, t.Flows.OutAt(at)+1), true
}

// waitingAround is the most messages that were in the source queues or unacked at about a time; +Inf where the queues were not read shortly before
// or after.
func (t *Traffic) waitingAround(at time.Time) float64 {
	waiting := max(t.depthAt(at), t.unackedAround(at))
	for _, f := range t.Frames.Span(at.Add(-depthAround), at.Add(depthAround)) {
		waiting = max(waiting, f.Depth)
	}
	return waiting
}

// readyAround is the most messages that waited in the source queues at about a time; +Inf where the queues were not read about then.
func (t *Traffic) readyAround(at time.Time) float64 {
	ready := math.Inf(-1)
	for _, f := range t.Frames.Span(at.Add(-depthAround), at.Add(depthAround)) {
		if !f.Blind {
			ready = max(ready, f.Depth-f.Unacked)
		}
	}
	if math.IsInf(ready, -1) {
		return math.Inf(1)
	}
	return max(0, ready)
}

// depthAt is how many messages the source queues held at a time, by the readings before and after it; +Inf where there is none shortly before or after.
func (t *Traffic) depthAt(at time.Time) float64 {
	f, ok := t.Frames.Before(at)
	if !ok || f.Blind || at.Sub(f.DepthFrom) > 2*depthAround {
		return t.depthByNext(at)
	}
	if next, ok := t.Frames.After(at); ok && next.DepthFrom.Sub(at) <= depthAround {
		return max(f.Depth, next.Depth)
	}
	return f.Depth
}

// depthByNext is what the source queues held at a time by the first reading after it: that is there still, or was delivered
// since, as live counts tell.
func (t *Traffic) depthByNext(at time.Time) float64 {
	for _, f := range t.Frames.Span(at, at.Add(2*depthAround)) {
		if f.Blind || f.DepthFrom.Before(at) {
			continue
		}
		if g, ok := t.Flows.Between(at, f.Ended); ok {
			return f.Depth + g.Delivered[1] + t.unackedAround(at)
		}
		break
	}
	return math.Inf(1)
}

// unrest bounds by how many messages the counts of the broker and of the store may differ at a time: by what is out then, and by how
// uneven the pace is. +Inf where live counts do not reach around it.
func (t *Traffic) unrest(at time.Time) float64 {
	if a, b := t.Flows.Around(at); a == nil || b == nil {
		return math.Inf(1)
	}
	return t.unackedAround(at) + t.Flows.Uneven(at)
}

// consumersMost is how many consumers the source queues had at most since a time; infinitely many where that is not known.
func (t *Traffic) consumersMost(since time.Time) float64 {
	most := 0.0
	for i := len(t.Frames) - 1; i >= 0; i-- {
		f := &t.Frames[i]
		if !f.ConsumersKnown {
			return math.Inf(1)
		}
		if most = max(most, f.Consumers); f.Began.Before(since) {
			return most
		}
	}
	return math.Inf(1)
}

// cameBack bounds what came back in a window, and might be of messages that consumers had since reach.
func (t *Traffic) cameBack(reach, from, to time.Time) rate.Returns {
	c := rate.UnboundedReturns()
	c.Count(t.Frames, t.Own, t.Prefetches.Since, reach, from, to)
	if redelivered, ok := t.Flows.Redelivered(from, to); ok {
		// What was unacked when the window began may have been redelivered before, and inserted since.
		c.Redelivered = redelivered + t.unackedAround(from)
	}
	return c
}

// waitingAcks is how many deliveries whose work is done wait for their ack: on average since a time, and by the newest readings, at most so many
// as are unacked, or may be.
func (t *Traffic) waitingAcks(since time.Time, scheme dedup.Scheme, several string) estimate.Unacked {
	frames := t.Frames
	if len(frames) == 0 {
		return estimate.Unacked{}
	}
	s := rate.Residual{Scheme: scheme, Several: several, Frames: frames}
	newest := frames[len(frames)-1].Began
	if within := frames.Span(since, newest); len(within) > 0 {
		frames = within
	}
	var all estimate.Unacked
	for i := range frames { // a frame is large
		f := &frames[i]
		n := s.UnackedWork(f)
		if all.Mean += n / float64(len(frames)); newest.Sub(f.Began) <= sample.DepthLag {
			all.Last = max(all.Last, n)
		}
	}
	return all
}
