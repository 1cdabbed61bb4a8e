package sample

import (
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
)

// The ages at which readings thin out: every frame for two hours, one a minute for a day.
const (
	EachFor = 2 * time.Hour
	keptFor = 25 * time.Hour
	OldStep = time.Minute
)

// A Frame is what one reading of the broker said of one pipeline: sums over its source queues. Counters are ours and
// cumulative since the dashboard started.
type Frame struct {
	// Began and Ended bound the reading by our clock.
	Began time.Time
	Ended time.Time
	// Manual acks, redeliveries, manual deliveries (gets included), gets alone, automatic acks, publishes.
	Acks         float64
	Redeliveries float64
	Deliveries   float64
	Gets         float64
	AutoAcks     float64
	Publishes    float64
	// Entered are the messages that the queues themselves took in: see dedup.Queue. EnteredKnown is true when each of them tells,
	// and EnteredGaps counts the times at which some may have been dropped, cumulative.
	Entered      float64
	EnteredGaps  float64
	EnteredKnown bool
	// Unentered is true when no source queue had taken in a message yet.
	Unentered bool
	// ReportedDuplicates are those that consumers had reported by then.
	ReportedDuplicates float64
	// Closures are the channels that were closed in the whole broker.
	Closures float64
	// Depth is ready + unacked of the source queues, Unacked alone, and Dead the messages in the dead-letter queues. They are of
	// times between DepthFrom and Ended.
	Depth   float64
	Unacked float64
	Dead    float64
	// DeadSettled are the messages that were taken out of the dead-letter queues, DeadPublished those that somebody published there
	// himself, both by counters as old as CounterLag.
	DeadSettled   float64
	DeadPublished float64
	// DeadGaps counts the times at which either may have missed events, and those at which the dead-letter queues became others.
	DeadGaps float64
	// Consumers are those of the source queues, which have at most as many channels, and as old as a depth;
	// ConsumersKnown is false when the broker does not tell.
	Consumers      float64
	ConsumersKnown bool
	DepthFrom      time.Time
	// Whole is true when Depth and Dead are known and complete, so that a balance can be struck.
	Whole bool
	// Presumed is true when it would be whole but for this: it is not known yet that nobody consumes the dead letters.
	Presumed bool
	// Unborn is true when none of the source queues existed yet, in a list that hides nothing.
	Unborn bool
	// Unpublished is true when no source queue has a counter of publishes yet: it will be born at 0.
	Unpublished bool
	// Blind is true when Depth and Unacked are not known.
	Blind bool
	// ClosuresBlind is true when the broker does not count closed channels.
	ClosuresBlind bool
	// ClosureGaps counts the times at which closed channels may not have been counted, cumulative.
	ClosureGaps float64
	// Gaps counts the times at which events may have been dropped, cumulative.
	Gaps float64
	// Held are the samples of the unacked messages by then, about one each second.
	Held estimate.Held
}

// DeadNet are the dead letters as the frame alone shows them: its counts are older than its depths.
func (f *Frame) DeadNet() float64 { return f.Dead + f.DeadSettled - f.DeadPublished }

// Frames are those of one pipeline in time order, newest last.
type Frames []Frame

// Add appends a frame. A frame that is not later than the last one, as after the clock was set back, begins the frames
// anew: nothing can be said about spans across it. Old ones are thinned out once in a while: of what is older than EachFor all but one a minute.
func (r *Frames) Add(f Frame) {
	frames := *r
	if n := len(frames); n > 0 && !f.Began.After(frames[n-1].Began) {
		frames = frames[:0]
	}
	frames = append(frames, f)
	if n := len(frames); n >= 64 && n%64 == 0 {
		frames = Thin(frames, f.Began, func(f *Frame) time.Time { return f.Began }, OlderThan(EachFor, OldStep))
	}
	*r = frames
}

// SettleUnborn makes the frames before both source and dead-letter queues existed whole: all of them were empty.
func (r Frames) SettleUnborn(before time.Time) {
	for i := range r {
		if f := &r[i]; f.Unborn && f.Began.Before(before) {
			f.Whole = true
		}
	}
}

// SettlePresumed decides about the frames from before it was known whether anybody consumes the dead letters.
func (r Frames) SettlePresumed(whole bool) {
	for i := range r {
		if f := &r[i]; f.Presumed {
			f.Whole, f.Presumed = whole, false
		}
	}
}

// Len is the number of frames. With Moment it makes them what estimate.Latency reads.
func (r Frames) Len() int { return len(r) }

// Moment is what a frame tells of how long deliveries are held.
func (r Frames) Moment(i int) estimate.Moment {
	f := &r[i]
	return estimate.Moment{At: f.Began, Deliveries: f.Deliveries, Redeliveries: f.Redeliveries, Acks: f.Acks, AutoAcks: f.AutoAcks, Gaps: f.Gaps, Held: f.Held}
}

// Before returns the latest frame whose reading had ended by t, and false when there is none.
func (r Frames) Before(t time.Time) (*Frame, bool) {
	i := sort.Search(len(r), func(i int) bool { return r[i].Ended.After(t) })
	if i == 0 {
		return nil, false
	}
	return &r[i-1], true
}

// After returns the earliest frame whose reading began at t or later, and false when there is none.
func (r Frames) After(t time.Time) (*Frame, bool) {
	i := sort.Search(len(r), func(i int) bool { return !r[i].Began.Before(t) })
	if i == len(r) {
		return nil, false
	}
	return &r[i], true
}

// Counted returns the earliest frame whose counters tell of all that had happened by t, and false when there is none.
func (r Frames) Counted(t time.Time) (*Frame, bool) { return r.Told(t, CounterLag) }

// Told is Counted for what is usually as old as lag. The broker caches its statistics for some times as long as it took to collect them:
// where readings took long, they are older.
func (r Frames) Told(t time.Time, lag time.Duration) (*Frame, bool) {
	for i := sort.Search(len(r), func(i int) bool { return !r[i].Began.Before(t.Add(lag)) }); i < len(r); i++ {
		if !r[i].Began.Add(-lag - r.cached(i)).Before(t) {
			return &r[i], true
		}
	}
	return nil, false
}

// cached is by how much older than usual the counters of a frame can be: they may be of a collection that one of the readings before it
// waited for.
func (r Frames) cached(i int) (more time.Duration) {
	for k := i; k >= 0; k-- {
		older := cacheFold*r[k].Ended.Sub(r[k].Began) - cacheUsual
		if since := r[i].Began.Sub(r[k].Ended); since > cacheLongest {
			break
		} else if older > 0 && older+cacheUsual >= since {
			more = max(more, min(older, cacheLongest))
		}
	}
	return more
}

// DepthAfter returns the earliest frame whose depths were taken at t or later, and false when there is none.
func (r Frames) DepthAfter(t time.Time) (*Frame, bool) {
	for i := sort.Search(len(r), func(i int) bool { return !r[i].Began.Before(t) }); i < len(r); i++ {
		if !r[i].DepthFrom.Before(t) {
			return &r[i], true
		}
	}
	return nil, false
}

// DeadLettered bounds the messages that were dead-lettered by the time at which a frame looked at the dead-letter queues: those there, and
// those that were taken out, less those that somebody published there himself. It is not ok where the queues are not known, where
// no later frame shows what was counted by then, or where counts were missed in between.
func (r Frames) DeadLettered(f *Frame) (low, high float64, ok bool) {
	later, ok := r.Counted(f.Ended)
	if !ok || !f.Whole {
		return 0, 0, false
	}
	before, ok := r.Before(f.DepthFrom.Add(-TransitDelay))
	if !ok {
		if before = &r[0]; f.Dead > 0 {
			return 0, 0, false // it is not known what of it was counted before the first frame
		}
	}
	if before.DeadGaps != f.DeadGaps || later.DeadGaps != f.DeadGaps {
		return 0, 0, false
	}
	return f.Dead + before.DeadSettled - later.DeadPublished, f.Dead + later.DeadSettled - before.DeadPublished, true
}

// DeadLetteredBetween bounds from above the messages that were dead-lettered between two frames.
func (r Frames) DeadLetteredBetween(from, to *Frame) (most float64, ok bool) {
	least, _, ok1 := r.DeadLettered(from)
	_, most, ok2 := r.DeadLettered(to)
	return max(0, most-least), ok1 && ok2 && from.DeadGaps == to.DeadGaps
}

// Span returns the frames whose readings began in [from, to].
func (r Frames) Span(from, to time.Time) Frames {
	i := sort.Search(len(r), func(i int) bool { return !r[i].Began.Before(from) })
	j := sort.Search(len(r), func(i int) bool { return r[i].Began.After(to) })
	if i >= j {
		return nil
	}
	return r[i:j]
}

// LastGap is when a reading last showed that events may have been dropped; zero when none did.
func (r Frames) LastGap() time.Time {
	for i := len(r) - 1; i > 0; i-- {
		if r[i].Gaps != r[i-1].Gaps {
			return r[i].Ended
		}
	}
	return time.Time{}
}

// Channels bounds the channels that consumers had at a time, by what was read from before it to a reading that is later by DepthLag:
// each consumer has one at most of its own. It is false when the broker did not tell.
func (r Frames) Channels(at time.Time, later *Frame) (float64, bool) {
	before, ok := r.Before(at)
	if !ok {
		return 0, false
	}
	var most float64
	span := r.Span(before.Began, later.Began)
	for i := range span {
		if !span[i].ConsumersKnown {
			return 0, false
		}
		most = max(most, span[i].Consumers)
	}
	return most, true
}

// CountsAll reports whether no closed channel and no reset can have taken counts along since a time.
func (r Frames) CountsAll(from time.Time) bool {
	n := len(r)
	if n == 0 {
		return false
	}
	i := sort.Search(n, func(i int) bool { return r[i].Began.After(from) })
	a, b := &r[max(0, i-1)], &r[n-1]
	return !a.ClosuresBlind && !b.ClosuresBlind && a.Closures == b.Closures && a.ClosureGaps == b.ClosureGaps && a.Gaps == b.Gaps
}

// Buried is about how many messages became dead letters between two times, as far as is read yet; 0 where that is not counted.
func (r Frames) Buried(from, to time.Time) float64 {
	a, okA := r.Before(from)
	b, okB := r.Before(to)
	if !okA || !okB || !a.Whole || !b.Whole || a.DeadGaps != b.DeadGaps {
		return 0
	}
	return max(0, b.Dead+b.DeadSettled-a.Dead-a.DeadSettled)
}

// DeadLetteredMost bounds from above the messages that were dead-lettered between two times; +Inf where nothing does.
func (r Frames) DeadLetteredMost(from, to time.Time) float64 {
	a, okA := r.Before(from)
	b, okB := r.After(to)
	if !okB && len(r) > 0 {
		b, okB = &r[len(r)-1], true
	}
	if !okA || !okB || a.DeadGaps != b.DeadGaps {
		return math.Inf(1)
	}
	least, _, ok1 := r.DeadLettered(a)
	_, most, ok2 := r.DeadLettered(b)
	if !ok1 || !ok2 {
		return math.Inf(1)
	}
	return max(0, most-least)
}

// DeadPublishedMost bounds from above the messages that somebody published into the dead-letter queues between two times, as consumers do that give up. Of
// the time that is not counted yet as many are supposed as came at the pace until then, with 3 standard deviations.
func (r Frames) DeadPublishedMost(from, to time.Time) float64 {
	a, okA := r.Before(from)
	if !okA {
		if len(r) == 0 {
			return 0
		}
		a = &r[0]
	}
	if b, ok := r.Counted(to); ok {
		return max(0, b.DeadPublished-a.DeadPublished)
	}
	b := &r[len(r)-1]
	n, counted := max(0, b.DeadPublished-a.DeadPublished), b.Began.Add(-CounterLag).Sub(a.Began)
	if n == 0 || counted <= 0 {
		return n
	}
	late := n * float64(to.Sub(a.Began)-counted) / float64(counted)
	return n + max(0, late) + 3*math.Sqrt(max(0, late))
}

// DeadLetteredLeast bounds from below the messages that were dead-lettered between two times, of which the newest are not counted yet; 0 where nothing does.
func (r Frames) DeadLetteredLeast(from, to time.Time) float64 {
	a, ok := r.After(from)
	if !ok {
		return 0
	}
	_, most, ok := r.DeadLettered(a)
	if !ok {
		return 0
	}
	for i := sort.Search(len(r), func(i int) bool { return r[i].Ended.After(to) }) - 1; i >= 0 && r[i].Began.After(a.Ended); i-- {
		if least, _, ok := r.DeadLettered(&r[i]); ok && a.DeadGaps == r[i].DeadGaps {
			return max(0, least-most)
		}
	}
	return 0
}

// WholeSince returns the frame before a time, or the first later one from which on all up to the last vouch for the dead letters; nil
// where the last one does not. What waited at such a later one may have been a dead letter before.
func (r Frames) WholeSince(t time.Time, last *Frame) (first *Frame, waited float64) {
	for i := len(r) - 1; i >= 0; i-- {
		f := &r[i]
		if f.Began.After(last.Began) {
			continue
		}
		if !f.Whole || f.DeadGaps != last.DeadGaps {
			break
		}
		if first, waited = f, f.Depth; !f.Ended.After(t) {
			return f, 0
		}
	}
	return first, waited
}
