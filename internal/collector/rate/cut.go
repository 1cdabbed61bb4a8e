package rate

import (
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// A Cut is one end of the judged window: a time, and bounds on what had happened by then.
type Cut struct {
	At    time.Time // our clock
	Store time.Time // the store's clock, a whole second
	// AcksLow and AcksHigh bound the acks as the broker counts them, the balances what left the source queues: by the messages that
	// were published, and by those that the queues took in.
	AcksLow, AcksHigh  float64
	Published, Entered balance
	// Worth ranks cuts by whether a balance from them bounds anything, and Vague is by how much the better one errs: see rank.
	Worth         int
	Vague         float64
	Before, After *sample.Frame
	// Unsettled are the messages that were still there at the first depth after the cut, or came back until then: they
	// widen what an end of the window must allow for. It only serves to choose.
	Unsettled float64
}

// doubt is the uncertainty that the cut adds.
func (c Cut) doubt() float64 { return c.AcksHigh - c.AcksLow + c.Vague + c.Unsettled }

// bestCut returns the cut of least doubt among the frames between two times; of equals the latest, or the earliest.
func bestCut(s Residual, from, to time.Time, late bool) (Cut, bool) {
	var best Cut
	found := false
	span := s.Frames.Span(from, to)
	for i := range span {
		c, ok := cutAt(s, span[i].Ended)
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
func (c *Cut) watch(s Residual) bool {
	depth, ok := s.Frames.DepthAfter(c.At.Add(s.ClockError))
	if !ok {
		return false
	}
	lag := sample.CounterLag
	if c.Entered.Known && anyClosed(s.Own, s.Frames) {
		lag = enteredIntake().lag // see leftBy
	}
	later, ok := s.Frames.Told(depth.Ended, lag)
	if ok {
		c.Unsettled = later.Redeliveries - c.Before.Redeliveries + depth.Depth
	}
	return ok
}

func better(c, best Cut, late bool) bool {
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
// A counter read at time p shows at least the events up to p - sample.CounterLag and at most those up to the end of the
// reading. So the latest reading before a time bounds the true count from below and the first reading later than
// sample.CounterLag after it from above. An ack follows its marker by at most sample.SettleDelay.
func cutAt(s Residual, t time.Time) (Cut, bool) {
	offset := s.Pass.ClockOffset
	store := t.Add(offset + s.ClockError)
	if whole := store.Truncate(time.Second); whole.Before(store) {
		store = whole.Add(time.Second)
	}
	at := store.Add(-offset)
	c, ok := CutBetween(s.Frames, at.Add(-s.ClockError), at.Add(s.ClockError+sample.SettleDelay))
	c.At, c.Store = at, store
	c.rank(s.Meter, s.Own, s.Frames)
	return c, ok
}

// anyClosed reports whether channels of the pipeline may have been closed since the first frame.
func anyClosed(own *sample.OwnClosures, r sample.Frames) bool {
	return !noneClosed(own, Cut{Before: &r[0]}, &r[len(r)-1])
}

// rank says what the balances at a cut are worth: without one, closed channels leave little that bounds the acks; and where
// channels were closed at all, that of publishes needs a loss meter that ran around the cut.
func (c *Cut) rank(meter sample.LostCounts, own *sample.OwnClosures, r sample.Frames) {
	if c.Published.Known {
		c.Worth, c.Vague = 1, c.Published.doubt()
		if !anyClosed(own, r) || meter.Publishes.Spans(c.Published.From, c.Published.To) {
			c.Worth = 2
		}
	}
	if c.Entered.Known && (c.Worth < 2 || c.Entered.doubt() < c.Vague) {
		c.Worth, c.Vague = 2, c.Entered.doubt()
	}
}

// CutBetween bounds what had happened at a time that lies between two others.
func CutBetween(r sample.Frames, early, late time.Time) (Cut, bool) {
	before, ok := r.Before(early)
	if !ok {
		return Cut{}, false
	}
	after, ok := r.Counted(late)
	if !ok {
		return Cut{}, false
	}
	c := Cut{AcksLow: before.Acks, AcksHigh: after.Acks, Before: before, After: after}
	c.Published = publishedIntake().between(r, early, late)
	c.Entered = enteredIntake().between(r, early, late)
	return c, true
}
