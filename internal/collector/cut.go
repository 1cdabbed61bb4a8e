package collector

import (
	"math"
	"time"
)

// A cut is one end of the judged window: a time, and bounds on what had happened by then.
type cut struct {
	At    time.Time // our clock
	Store time.Time // the store's clock, a whole second
	// AcksLow and AcksHigh bound the acks as the broker counts them, BalanceLow and BalanceHigh as the balance does.
	AcksLow, AcksHigh       float64
	BalanceLow, BalanceHigh float64
	Balanced                bool
	// Counts of publishes that were lost after PublishedFrom are missing from BalanceHigh less an earlier BalanceLow, as far as
	// PublishedTo.
	PublishedFrom, PublishedTo time.Time
	// Worth ranks cuts by whether the balance from them bounds anything: see rank.
	Worth         int
	Before, After *frame
	// Unsettled are the messages that were still there at the first depth after the cut, or came back until then: they
	// widen what an end of the window must allow for. It only serves to choose.
	Unsettled float64
}

// doubt is the uncertainty that the cut adds.
func (c cut) doubt() float64 {
	if c.Balanced {
		return c.AcksHigh - c.AcksLow + c.BalanceHigh - c.BalanceLow + c.Unsettled
	}
	return c.AcksHigh - c.AcksLow + c.Unsettled
}

// bestCut returns the cut of least doubt among the frames between two times; of equals the latest, or the earliest.
func bestCut(s residualSample, from, to time.Time, late bool) (cut, bool) {
	var best cut
	found := false
	for _, f := range s.Frames.span(from, to) {
		c, ok := cutAt(s, f.Ended)
		if !ok || c.At.After(to) || (late && !c.watch(s)) {
			continue
		}
		if !found || better(c, best, late) {
			best, found = c, true
		}
	}
	return best, found
}

// watch reports whether the broker was read often enough after the cut to know what became of unacked messages, and
// notes how many there were.
func (c *cut) watch(s residualSample) bool {
	depth, ok := s.Frames.depthAfter(c.At.Add(s.ClockError))
	if !ok {
		return false
	}
	later, ok := s.Frames.after(depth.Ended.Add(counterLag))
	if ok {
		c.Unsettled = later.Redeliveries - c.Before.Redeliveries + depth.Depth
	}
	return ok
}

func better(c, best cut, late bool) bool {
	if c.Worth != best.Worth {
		return c.Worth > best.Worth
	}
	if late {
		return c.doubt() <= best.doubt()
	}
	return c.doubt() < best.doubt()
}

// cutAt bounds what had happened at the first whole second of the store's clock after t.
//
// A counter read at time p shows at least the events up to p - counterLag and at most those up to the end of the
// reading. So the latest reading before a time bounds the true count from below and the first reading later than
// counterLag after it from above. An ack follows its marker by at most settleDelay.
func cutAt(s residualSample, t time.Time) (cut, bool) {
	offset := s.Pass.ClockOffset
	store := t.Add(offset + s.ClockError)
	if whole := store.Truncate(time.Second); whole.Before(store) {
		store = whole.Add(time.Second)
	}
	at := store.Add(-offset)
	c, ok := cutBetween(s.Frames, at.Add(-s.ClockError), at.Add(s.ClockError+settleDelay))
	c.At, c.Store = at, store
	c.rank(s.Meter, s.Own, s.Frames)
	return c, ok
}

// rank says what the balance at a cut is worth: without one, closed channels leave little that bounds the acks; and where
// channels were closed at all, the loss meter must have run around the cut.
func (c *cut) rank(meter lostCounts, own *ownClosures, r reel) {
	switch {
	case !c.Balanced:
		c.Worth = 0
	case noneClosed(own, cut{Before: &r[0]}, &r[len(r)-1]) || meter.Publishes.spans(c.PublishedFrom, c.PublishedTo):
		c.Worth = 2
	default:
		c.Worth = 1
	}
}

// cutBetween bounds what had happened at a time that lies between two others.
func cutBetween(r reel, early, late time.Time) (cut, bool) {
	before, ok := r.before(early)
	if !ok {
		return cut{}, false
	}
	after, ok := r.after(late.Add(counterLag))
	if !ok {
		return cut{}, false
	}
	c := cut{AcksLow: before.Acks, AcksHigh: after.Acks, Before: before, After: after}
	low, from, okLow := balanceLow(r, early)
	high, to, okHigh := balanceHigh(r, late)
	if okLow && okHigh {
		c.BalanceLow, c.BalanceHigh, c.Balanced = low, high, true
		c.PublishedFrom, c.PublishedTo = from, to
	}
	return c, true
}

// balanceLow bounds from below, up to a constant, the messages that had left the source queues by an ack at t:
// published - still there - dead-lettered, all at the instant at which a depth was taken that is not later than t. The publishes
// are those counted by a reading that ended at from, or later.
func balanceLow(r reel, t time.Time) (low float64, from time.Time, ok bool) {
	depth, ok := r.before(t)
	if !ok || !depth.Whole {
		return 0, from, false
	}
	published, ok := r.before(depth.DepthFrom.Add(-transitDelay))
	if ok {
		from = published.Ended
	} else {
		// Nothing had been published yet, or all of it was counted since.
		if published = &r[0]; !published.Unpublished {
			return 0, from, false
		}
		from = depth.DepthFrom.Add(-transitDelay)
	}
	dead, ok := r.depthAfter(depth.Ended.Add(transitDelay))
	if !ok || !dead.Whole {
		return 0, from, false
	}
	return published.Publishes - depth.Depth - dead.Dead, from, true
}

// balanceHigh is balanceLow's upper counterpart: the depth was taken at t or later, or is left out, as it is never
// below 0. The publishes are those up to a time.
func balanceHigh(r reel, t time.Time) (high float64, to time.Time, ok bool) {
	dead, ok := r.before(t)
	if !ok || !dead.Whole {
		return 0, to, false
	}
	published, ok := r.after(t.Add(counterLag))
	if !ok {
		return 0, to, false
	}
	high, to = published.Publishes-dead.Dead, t
	if depth, ok := r.depthAfter(t); ok && depth.Whole {
		if published, ok := r.after(depth.Ended.Add(counterLag)); ok {
			high, to = min(high, published.Publishes-depth.Depth-dead.Dead), depth.Ended
		}
	}
	return high, to, true
}

// balance bounds the messages that left the source queues by an ack between two cuts: published - still there - dead-lettered.
// Publishers' channels that were closed took counts of publishes along, which only the loss meter tells, so that without it
// there is no upper bound. Nor is there a lower one without the meter of acks, which tells a purge from acks that were lost, or
// where the depths of the ends overlap, or where dead letters went that nobody was seen to take.
func (l lostCounts) balance(from, to cut) [2]float64 {
	bounds := [2]float64{math.Inf(-1), math.Inf(1)}
	if !from.Balanced || !to.Balanced {
		return bounds
	}
	overlap, fell := to.PublishedFrom.Before(from.PublishedTo), to.Before.Dead < from.Before.Dead
	if l.Acks.spans(from.Before.Ended, to.After.Began) && !overlap && !fell {
		bounds[0] = to.BalanceLow - from.BalanceHigh
	}
	if _, lost, ok := l.Publishes.lost(from.PublishedFrom, to.PublishedTo); ok {
		bounds[1] = to.BalanceHigh - from.BalanceLow + lost
	}
	return bounds
}
