package live

import "math"

const (
	// settling is how many quiet readings after a loss have the node's own counters read, which narrows what is known of it. Where
	// channels keep going the counters are read each time, so that what one takes along is known before the next goes.
	settling = 30
	// quietly is how often they are read besides, once in so many readings.
	quietly = 5
)

// bounds are two ends of a number of each Kind.
type bounds struct{ low, high Counts }

// A repair finds what rows took along, from the counters of their node, which lose nothing. Since the base the node counted N and the
// rows S; N-S is lost, and only grows. Counters read before the rows give its low end, those read after them its high end. As long as
// nothing goes, nothing more is lost, so that each further reading can only narrow it.
//
// Time is cut into segments, each of which has its suspects: the queues whose rows went. A new segment begins when others go.
type repair struct {
	based bool
	// base is what the node had counted when nothing was lost yet, sum what the rows had.
	base bounds
	sum  Counts
	// now is what is lost since the base, start what was when the segment began.
	now, start bounds
	suspects   event
	// of all queues: what may be any of theirs, of segments that ended.
	shared Counts
	// unseen are channels that came and went without a row in segments that ended, and may have taken something.
	unseen int64
	// closed are the channels that the node closed in the segment, with those of unchecked: since the answer before its counters were last read.
	closed, unchecked int64
	quiet             int // readings since something went
	turn              int
}

// wants reports whether the counters of the node are worth reading though nothing has gone.
func (r *repair) wants() bool { return !r.based || r.quiet < settling || r.turn%quietly == 0 }

// observe takes what went since the last reading, and the counters before and after the rows, whose sum is given. It is false when
// how much was lost will never be known: rows went before there was a base, or the counters fell, as in a new node.
func (r *repair) observe(gone *event, before, after, sum *Counts) bool {
	r.turn++
	if !r.based {
		r.found(before, after, sum)
		return !gone.any()
	}
	r.closed += gone.closed
	if fell(&r.base.low, before) || fell(&r.base.low, after) || before != nil && fell(before, after) {
		return false
	}
	low, high := r.ends(before, after, sum)
	// More is lost than was possible a moment ago, though no row went: a channel that was never seen.
	unseen := false
	for _, k := range repaired {
		unseen = unseen || low[k] > r.now.high[k]
	}
	switch {
	case gone.any():
		r.lose(gone)
	case unseen:
		r.lose(&event{anyone: true, unseen: math.MaxInt64, closed: gone.closed})
	default:
		r.quiet++
	}
	for _, k := range repaired {
		r.now.low[k] = max(r.now.low[k], low[k])
		r.now.high[k] = max(r.now.low[k], min(r.now.high[k], high[k]))
	}
	if before == nil || after == nil {
		r.unchecked += gone.closed
	} else {
		r.unchecked = gone.closed
	}
	return true
}

func fell(earlier, later *Counts) bool {
	for _, k := range repaired {
		if later != nil && later[k] < earlier[k] {
			return true
		}
	}
	return false
}

// found sets the base.
func (r *repair) found(before, after, sum *Counts) {
	if before == nil || after == nil || fell(before, after) {
		return
	}
	*r = repair{based: true, base: bounds{low: *before, high: *after}, sum: *sum, turn: r.turn}
}

// ends returns between what ends that which was lost since the base must be.
func (r *repair) ends(before, after, sum *Counts) (low, high Counts) {
	for _, k := range repaired {
		rows := sum[k] - r.sum[k]
		if before != nil {
			low[k] = max(0, before[k]-r.base.high[k]-rows)
		}
		if high[k] = Unbounded; after != nil {
			high[k] = max(0, after[k]-r.base.low[k]-rows)
		}
	}
	return low, high
}

// lose notes that rows went. Where others went before, a new segment begins with what was lost by then, once that is known.
func (r *repair) lose(gone *event) {
	r.quiet = 0
	switch {
	case r.suspects.same(gone):
		r.suspects = r.suspects.with(gone)
	case r.now.high[Acked] == Unbounded:
		r.suspects = r.suspects.with(gone)
	default:
		r.end()
		r.suspects, r.start, r.closed = *gone, r.now, r.unchecked+gone.closed
	}
	for _, k := range repaired {
		r.now.high[k] = Unbounded
	}
}

// end closes the segment: its loss is charged to its suspects.
func (r *repair) end() {
	for t := range r.suspects.queues {
		lost := r.open(t)
		t.lost.add(&lost)
		t.closed += min(r.suspects.queues[t], r.taken())
	}
	if r.suspects.anyone {
		_, high := r.segment()
		r.shared.add(&high)
		r.unseen += min(r.suspects.unseen, r.closed, r.taken())
	}
}

// taken is the most that consumers took in the segment that goes on without a row that tells of it.
func (r *repair) taken() int64 {
	_, high := r.segment()
	return high.taken()
}

// mayBeClosed bounds the channels that went in the segment that goes on, and held something of a queue only if they took more than is known.
func (r *repair) mayBeClosed(t *tally) int64 {
	unseen := r.suspects.unseen
	if r.quiet > 1 { // it is counted by now
		unseen = min(unseen, r.closed)
	}
	return min(plus(r.suspects.queues[t], unseen), r.taken())
}

// segment returns what was lost in the segment that goes on.
func (r *repair) segment() (low, high Counts) {
	for _, k := range repaired {
		low[k] = max(0, r.now.low[k]-r.start.high[k])
		if high[k] = Unbounded; r.now.high[k] != Unbounded {
			high[k] = r.now.high[k] - r.start.low[k]
		}
	}
	// Each message that comes back is one of those sent.
	for _, k := range repaired {
		if k != Acked {
			high[Redelivered] = plus(high[Redelivered], high[k])
		}
	}
	return low, high
}

// open returns what a queue lost in the segment that goes on.
func (r *repair) open(t *tally) (lost Lost) {
	_, suspect := r.suspects.queues[t]
	switch low, high := r.segment(); {
	case r.suspects.anyone:
		lost.High = high
	case suspect && len(r.suspects.queues) == 1:
		lost.Low, lost.High = low, high
	case suspect:
		lost.High = high
	}
	return lost
}

// with returns an event of those that went in either; nobody is known where anybody may be.
func (e *event) with(other *event) event {
	both := event{queues: map[*tally]int64{}, anyone: e.anyone || other.anyone, unseen: plus(e.unseen, other.unseen)}
	for _, queues := range []map[*tally]int64{e.queues, other.queues} {
		for t, n := range queues {
			both.queues[t] += n
		}
	}
	return both
}

func (e *event) same(other *event) bool {
	if e.anyone || other.anyone {
		return e.anyone == other.anyone
	}
	if len(e.queues) != len(other.queues) {
		return false
	}
	for t := range e.queues {
		if _, there := other.queues[t]; !there {
			return false
		}
	}
	return true
}
