package window

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// oneWaiting is how many acks may be on their way, of the pipeline on average, for channels to have at most one each.
const oneWaiting = 0.25

// leadOfClosed is how long before duplicates are counted a channel may have been closed that left them behind.
const leadOfClosed = 5 * time.Minute

// closedBetween is how many channels were closed between two times; +Inf where that is not known, and 0 where the second is not later.
func (t *Traffic) closedBetween(from, to time.Time) float64 {
	if !from.Before(to) {
		return 0
	}
	if g, ok := t.between(from, to); ok {
		return g.Closed
	}
	return math.Inf(1)
}

// closedSinceTaken counts the channels that were closed up to a time whose deliveries may wait yet: those since the newest moment of which all that
// was ready then has been delivered. They wait as long as no consumer is there, or none has room. It is infinite where no moment since from is one.
func (t *Traffic) closedSinceTaken(from, to time.Time) float64 {
	frames := t.Frames.Span(from, to)
	for i := len(frames) - 1; i >= 0; i-- {
		f := &frames[i]
		if f.Blind || f.DepthFrom.Before(from) || f.Ended.After(to) {
			continue
		}
		ready := f.Depth - f.Unacked
		if ready > 0 {
			// What came back since may have been delivered before it.
			g, ok := t.between(f.Ended, to)
			if !ok || g.Delivered[0]-g.Redelivered < ready {
				continue
			}
		}
		if g, ok := t.between(f.DepthFrom, to); ok {
			return g.Closed
		}
	}
	return math.Inf(1)
}

// closedMost bounds the closed channels of the pipeline: those whose rows went, or those of the whole broker that nobody else is known to
// have had, whichever are fewer. The broker's count is older than the rows: what went since that shows is added.
func (t *Traffic) closedMost(r estimate.Residual) float64 {
	frames := t.Frames
	first, ok := frames.Before(r.From)
	if !ok {
		return r.Closed
	}
	last := &frames[len(frames)-1]
	most, known := t.Own.Most(first, last)
	if !known {
		return r.Closed
	}
	return min(r.Closed, most+t.Joints.ClosedSince(last.Began.Add(-sample.CounterLag)))
}

// closedSince bounds the pipeline's channels that were closed since a time or not long before it; nil where nothing does.
func (t *Traffic) closedSince(from time.Time) *float64 {
	frames := t.Frames
	if len(frames) == 0 || from.Before(frames[0].Began) {
		return nil
	}
	first, ok := frames.Before(from.Add(-leadOfClosed))
	if !ok {
		first = &frames[0]
	}
	most, ok := t.Own.Most(first, &frames[len(frames)-1])
	if !ok {
		return nil
	}
	return &most
}

// acksLost bounds the acks that so many closed channels took along. Consumers that ack each delivery before they take up the next one have at
// most one finished delivery for each channel. Where more claims are open than that explains, they may work on several; but acks that follow
// at once leave no two of a channel waiting. Those that ack or return several at once may return some whose work is done, without closing anything.
func (t *Traffic) acksLost(r estimate.Residual, scheme dedup.Scheme, several string, closed float64) float64 {
	if !scheme.AcksEach {
		return math.Inf(1)
	}
	if r.Waiting <= oneWaiting {
		several = ""
	}
	return lostWith(closed, rate.Residual{Scheme: scheme, Several: several, Prefetch: t.Prefetches.Since(r.From)}.LostPerChannel())
}

// lostWith is how many acks so many closed channels took along at most, of each so many; 0 is no bound of it.
func lostWith(closed float64, each int64) float64 {
	switch {
	case closed == 0:
		return 0
	case each <= 0:
		return math.Inf(1)
	}
	return closed * float64(each)
}

// lostPerChannel is the most completed deliveries that one channel left unacked, of those closed since a time or not long before
// it; 0 when no bound is known for all of that time.
func (t *Traffic) lostPerChannel(scheme dedup.Scheme, several string, from time.Time) int64 {
	s := rate.Residual{Scheme: scheme, Several: several}
	if len(t.Prefetches) > 0 && !t.Prefetches[0].At.After(from) {
		s.Prefetch = t.Prefetches.Since(from.Add(-leadOfClosed))
	}
	return s.LostPerChannel()
}
