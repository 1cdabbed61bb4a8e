package rate

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// bounds are a lower and an upper bound of one number.
type bounds struct{ Low, High float64 }

func (b bounds) doubt() float64 { return b.High - b.Low }

// A balance bounds, up to a constant, the messages that had left the source queues by an ack at a time: those that came in and are not
// there any more, less those that were dead-lettered.
type balance struct {
	Gone, Buried bounds
	Known        bool
	// From and To are the times that the counts of what came in are of: the lower end has at least those from before From, the upper
	// one none from after To.
	From, To time.Time
	// Gaps and DeadGaps count the times at which some of either may not have been counted, up to then.
	Gaps, DeadGaps float64
}

// doubt is by how much a balance may err.
func (b balance) doubt() float64 { return b.Gone.doubt() + b.Buried.doubt() }

// comparable reports whether nothing was missed between two balances.
func (b balance) comparable(to balance) bool {
	return b.Known && to.Known && b.Gaps == to.Gaps && b.DeadGaps == to.DeadGaps
}

// most bounds from above the messages that left by an ack from one balance to another. Of the growth of the dead letters so many may be
// somebody's own publishes whose counts were lost, and no dead letters.
func (b balance) most(to balance, lost float64) float64 {
	return to.Gone.High - b.Gone.Low - max(0, to.Buried.Low-b.Buried.High-lost)
}

// least bounds them from below.
func (b balance) least(to balance) float64 {
	return to.Gone.Low - b.Gone.High - max(0, to.Buried.High-b.Buried.Low)
}

// An intake is a way to count the messages that come into the source queues.
type intake struct {
	of func(*sample.Frame) float64
	// lag is how old a count can be.
	lag time.Duration
	// gaps counts the times at which this count, or any other of the pipeline's queues, may have missed events.
	gaps  func(*sample.Frame) float64
	known func(*sample.Frame) bool
	// bornLater reports whether the count was still at 0, or not there yet, when a frame was read.
	bornLater func(*sample.Frame) bool
}

// publishedIntake counts what the channels sent. A channel that dies takes counts along.
func publishedIntake() intake {
	return intake{
		of: func(f *sample.Frame) float64 { return f.Publishes }, lag: sample.CounterLag,
		gaps: func(f *sample.Frame) float64 { return f.Gaps }, known: func(*sample.Frame) bool { return true },
		bornLater: func(f *sample.Frame) bool { return f.Unpublished },
	}
}

// enteredIntake counts what the queues took in by themselves, which loses nothing. It is as old as their depths.
func enteredIntake() intake {
	return intake{
		of: func(f *sample.Frame) float64 { return f.Entered }, lag: sample.DepthLag,
		gaps: func(f *sample.Frame) float64 { return f.EnteredGaps }, known: func(f *sample.Frame) bool { return f.EnteredKnown },
		bornLater: func(f *sample.Frame) bool { return f.Unentered },
	}
}

// between strikes the balance at a time that lies between two others.
func (n intake) between(r sample.Frames, early, late time.Time) (b balance) {
	first, ok := n.low(r, early, &b)
	if !ok {
		return balance{}
	}
	last, ok := n.high(r, late, &b)
	if !ok || n.gaps(first) != n.gaps(last) || first.DeadGaps != last.DeadGaps {
		return balance{}
	}
	b.Gaps, b.DeadGaps, b.Known = n.gaps(first), first.DeadGaps, true
	return b
}

// low bounds from below what is gone, and so from above what was dead-lettered, all at the instant at which a depth was taken that is
// not later than t. What came in is counted by the reading of the frame that it returns, or later.
func (n intake) low(r sample.Frames, t time.Time, b *balance) (counted *sample.Frame, ok bool) {
	depth, ok := r.Before(t)
	if !ok || !depth.Whole {
		return nil, false
	}
	counted, ok = r.Before(depth.DepthFrom.Add(-sample.TransitDelay))
	if ok && n.known(counted) {
		b.From = counted.Ended
	} else {
		// Nothing had come in yet, or all of it was counted since.
		if counted = &r[0]; !n.bornLater(counted) {
			return nil, false
		}
		b.From = depth.DepthFrom.Add(-sample.TransitDelay)
	}
	after, ok := r.DepthAfter(depth.Ended.Add(sample.TransitDelay))
	if !ok {
		return nil, false
	}
	_, b.Buried.High, ok = r.DeadLettered(after)
	b.Gone.Low = n.of(counted) - depth.Depth
	return counted, ok && after.DeadGaps == counted.DeadGaps
}

// high is low's upper counterpart: the depth was taken at t or later, or is left out, as it is never below 0. What came in is
// that up to a time.
func (n intake) high(r sample.Frames, t time.Time, b *balance) (counted *sample.Frame, ok bool) {
	before, ok := r.Before(t)
	if !ok {
		return nil, false
	}
	if b.Buried.Low, _, ok = r.DeadLettered(before); !ok {
		return nil, false
	}
	counted, ok = r.Told(t, n.lag)
	if !ok || !n.known(counted) || counted.DeadGaps != before.DeadGaps {
		return nil, false
	}
	b.Gone.High, b.To = n.of(counted), t
	if depth, ok := r.DepthAfter(t); ok && depth.Whole {
		later, ok := r.Told(depth.Ended, n.lag)
		if ok && n.known(later) && n.gaps(later) == n.gaps(counted) && n.of(later)-depth.Depth < b.Gone.High {
			b.Gone.High, b.To, counted = n.of(later)-depth.Depth, depth.Ended, later
		}
	}
	return counted, true
}

// left bounds the messages that left the source queues by an ack between two cuts. Publishers' channels that were closed took
// counts of publishes along, which only the loss meter tells: without it only what the queues took in themselves gives an upper
// bound, of which no dead letters are taken off, as somebody's own publishes may be among them. Nor is there a lower bound without
// the meter of acks, which tells a purge from acks that were lost, or where the depths of the ends overlap, or where dead letters
// went that nobody was seen to take. What queues took in gives no lower bound at all: one that is started again may count on from a
// number that is too high. One that counts on from a number that is too low is not believed where it took in less than was published.
func left(l sample.LostCounts, from, to Cut) [2]float64 {
	out := [2]float64{math.Inf(-1), math.Inf(1)}
	lost := math.Inf(1)
	if from.Published.comparable(to.Published) {
		overlap, fell := to.Published.From.Before(from.Published.To), to.Before.DeadNet() < from.Before.DeadNet()
		if l.Acks.Spans(from.Before.Ended, to.After.Began) && !overlap && !fell {
			out[0] = from.Published.least(to.Published)
		}
		if _, most, ok := l.Publishes.Lost(from.Published.From, to.Published.To); ok {
			lost = most
			out[1] = from.Published.most(to.Published, 0) + lost
		}
	}
	if from.Entered.comparable(to.Entered) && !from.Entered.lacks(to.Entered, from.Published, to.Published) {
		out[1] = min(out[1], from.Entered.most(to.Entered, lost))
	}
	return out
}

// lacks reports whether less came in between two balances than was published.
func (b balance) lacks(to, fromPublished, toPublished balance) bool {
	return fromPublished.comparable(toPublished) && to.Gone.High-b.Gone.Low < toPublished.Gone.Low-fromPublished.Gone.High
}
