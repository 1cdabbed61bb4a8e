package collector

import (
	"math"
	"time"
)

// A balance bounds, up to a constant, the messages that had left the source queues by an ack at a time: those that came in, less
// those that are still there, less those that were dead-lettered.
type balance struct {
	Low, High float64
	Known     bool
	// From and To are the times that the counts of what came in are of: Low has at least those from before From, High none from
	// after To.
	From, To time.Time
	// Gaps counts the times at which some of what came in may not have been counted, up to then.
	Gaps float64
}

// doubt is by how much a balance may err.
func (b balance) doubt() float64 { return b.High - b.Low }

// An intake is a way to count the messages that come into the source queues.
type intake struct {
	of func(*frame) float64
	// lag is how old a count can be.
	lag time.Duration
	// gaps and known are of the counts alone; the others' refuse the whole window.
	gaps  func(*frame) float64
	known func(*frame) bool
	// bornLater reports whether the count was still at 0, or not there yet, when a frame was read.
	bornLater func(*frame) bool
}

// publishedIntake counts what the channels sent. A channel that dies takes counts along.
func publishedIntake() intake {
	return intake{
		of: func(f *frame) float64 { return f.Publishes }, lag: counterLag,
		gaps: func(*frame) float64 { return 0 }, known: func(*frame) bool { return true },
		bornLater: func(f *frame) bool { return f.Unpublished },
	}
}

// enteredIntake counts what the queues took in by themselves, which loses nothing. It is as old as their depths.
func enteredIntake() intake {
	return intake{
		of: func(f *frame) float64 { return f.Entered }, lag: depthLag,
		gaps: func(f *frame) float64 { return f.EnteredGaps }, known: func(f *frame) bool { return f.EnteredKnown },
		bornLater: func(f *frame) bool { return f.Unentered },
	}
}

// between strikes the balance at a time that lies between two others.
func (n intake) between(r reel, early, late time.Time) balance {
	low, first, okLow := n.low(r, early)
	high, last, okHigh := n.high(r, late)
	if !okLow || !okHigh || n.gaps(first) != n.gaps(last) {
		return balance{}
	}
	low.High, low.To, low.Gaps, low.Known = high.High, high.To, n.gaps(first), true
	return low
}

// low bounds the balance from below, all at the instant at which a depth was taken that is not later than t. What came in is
// counted by the reading of the frame that it returns, or later.
func (n intake) low(r reel, t time.Time) (b balance, counted *frame, ok bool) {
	depth, ok := r.before(t)
	if !ok || !depth.Whole {
		return b, nil, false
	}
	counted, ok = r.before(depth.DepthFrom.Add(-transitDelay))
	if ok && n.known(counted) {
		b.From = counted.Ended
	} else {
		// Nothing had come in yet, or all of it was counted since.
		if counted = &r[0]; !n.bornLater(counted) {
			return b, nil, false
		}
		b.From = depth.DepthFrom.Add(-transitDelay)
	}
	after, ok := r.depthAfter(depth.Ended.Add(transitDelay))
	if !ok {
		return b, nil, false
	}
	_, dead, ok := r.buried(after)
	b.Low = n.of(counted) - depth.Depth - dead
	return b, counted, ok
}

// high is low's upper counterpart: the depth was taken at t or later, or is left out, as it is never below 0. What came in is
// that up to a time.
func (n intake) high(r reel, t time.Time) (b balance, counted *frame, ok bool) {
	before, ok := r.before(t)
	if !ok {
		return b, nil, false
	}
	dead, _, ok := r.buried(before)
	if !ok {
		return b, nil, false
	}
	counted, ok = r.after(t.Add(n.lag))
	if !ok || !n.known(counted) {
		return b, nil, false
	}
	b.High, b.To = n.of(counted)-dead, t
	if depth, ok := r.depthAfter(t); ok && depth.Whole {
		later, ok := r.after(depth.Ended.Add(n.lag))
		if ok && n.known(later) && n.of(later)-depth.Depth-dead < b.High {
			b.High, b.To, counted = n.of(later)-depth.Depth-dead, depth.Ended, later
		}
	}
	return b, counted, true
}

// left bounds the messages that left the source queues by an ack between two cuts. Publishers' channels that were closed took
// counts of publishes along, which only the loss meter tells, so that without it only what the queues took in themselves gives
// an upper bound. Nor is there a lower one without the meter of acks, which tells a purge from acks that were lost, or where the
// depths of the ends overlap, or where dead letters went that nobody was seen to take. What queues took in gives none at all: one
// that its supervisor starts again may count on from a number that is too high.
func (l lostCounts) left(from, to cut) [2]float64 {
	bounds := [2]float64{math.Inf(-1), math.Inf(1)}
	if from.Entered.Known && to.Entered.Known && from.Entered.Gaps == to.Entered.Gaps {
		bounds[1] = to.Entered.High - from.Entered.Low
	}
	if !from.Published.Known || !to.Published.Known {
		return bounds
	}
	overlap, fell := to.Published.From.Before(from.Published.To), to.Before.deadNet() < from.Before.deadNet()
	if l.Acks.spans(from.Before.Ended, to.After.Began) && !overlap && !fell {
		bounds[0] = to.Published.Low - from.Published.High
	}
	if _, lost, ok := l.Publishes.lost(from.Published.From, to.Published.To); ok {
		bounds[1] = min(bounds[1], to.Published.High-from.Published.Low+lost)
	}
	return bounds
}
