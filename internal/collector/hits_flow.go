package collector

import (
	"math"
	"sort"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A flowReading is what a broker's live counts told of the source queues of one pipeline, as of one moment. Counts are compared within one Since.
type flowReading struct {
	At, Since        time.Time
	Acked, Delivered liveSum
	// Redelivered is at most, Closed the channels that were closed, MayBeClosed how many more there may be until later readings tell.
	Redelivered, Closed, MayBeClosed float64
	Automatic                        float64
}

// A liveSum is a count of dedup.LiveCount: at least Count, of which Unsure and Open are missing.
type liveSum struct{ Count, Unsure, Open float64 }

func (s *liveSum) add(count, unsure, open float64) {
	s.Count, s.Unsure, s.Open = s.Count+count, s.Unsure+unsure, s.Open+open
}

// between bounds what a count gained.
func (s liveSum) between(later liveSum) (low, high float64) {
	return max(0, later.Count-s.Count-s.Open), later.Count - s.Count + later.Unsure - s.Unsure + later.Open
}

// A flowPair takes the live counts of one pipeline's queues, for the round.
type flowPair struct {
	refs []dedup.QueueRef

	mu    sync.Mutex
	fresh []flowReading
}

// take adds a reading, where the broker tells of all queues.
func (p *flowPair) take(c *dedup.LiveCounts) {
	r, unseen := flowReading{At: c.Began.Add(c.Ended.Sub(c.Began) / 2)}, 0.0
	for _, ref := range p.refs {
		q, ok := c.Queues[ref]
		if !ok {
			return
		}
		if q.Since.After(r.Since) {
			r.Since = q.Since
		}
		r.Acked.add(q.Acked, q.Unsure, q.Open)
		r.Delivered.add(q.Delivered, q.DeliveredUnsure, q.DeliveredOpen)
		r.Redelivered, r.Closed, r.Automatic = r.Redelivered+q.Redelivered, r.Closed+q.Closed, r.Automatic+q.Automatic
		r.MayBeClosed += q.MayBeClosed
		unseen = max(unseen, q.Unseen)
	}
	r.Closed += unseen
	if math.IsInf(r.Acked.Unsure+r.Acked.Open+r.Delivered.Unsure+r.Delivered.Open+r.Redelivered, 1) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = append(p.fresh, r)
}

func (p *flowPair) drain() []flowReading {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.fresh
	p.fresh = nil
	return out
}

// A flowTape is the readings of one pipeline, in time order. It belongs to the round.
type flowTape struct {
	readings []flowReading
	added    int
}

func (t *flowTape) add(fresh []flowReading, now time.Time) {
	for _, r := range fresh {
		if n := len(t.readings); n > 0 && !r.At.After(t.readings[n-1].At) { // the clock was set back
			t.readings = t.readings[:0]
		}
		t.readings = append(t.readings, r)
	}
	if t.added += len(fresh); t.added >= 64 {
		t.added = 0
		t.readings = thinned(t.readings, now, func(r *flowReading) time.Time { return r.At }, grain{tapeFull, tapeStep}, grain{jointNew, jointFine})
	}
}

// around returns the readings on both sides of a time.
func (t *flowTape) around(at time.Time) (before, after *flowReading) {
	i := sort.Search(len(t.readings), func(i int) bool { return t.readings[i].At.After(at) })
	if i > 0 {
		before = &t.readings[i-1]
	}
	if i < len(t.readings) {
		after = &t.readings[i]
	}
	return before, after
}

// A brokerGain bounds what the broker did with the messages of one pipeline between two times. Redelivered is at most.
type brokerGain struct {
	Acked, Delivered    [2]float64
	Redelivered, Closed float64
	// Live is true where live counts told it.
	Live bool
}

// between bounds a gain by live counts; not ok where they do not reach around both times, or counted anew in between.
func (t *flowTape) between(from, to time.Time) (brokerGain, bool) {
	f0, f1 := t.around(from)
	t0, t1 := t.around(to)
	if f0 == nil || t1 == nil || f1 == nil || t0 == nil || f0.Since != t1.Since || f0.Automatic != t1.Automatic || f1.At.Sub(from) > liveStale || t1.At.Sub(to) > liveStale {
		return brokerGain{}, false
	}
	g := brokerGain{Live: true, Redelivered: t1.Redelivered - f0.Redelivered, Closed: t1.Closed + t1.MayBeClosed - f0.Closed}
	g.Acked[0], _ = f1.Acked.between(t0.Acked)
	g.Delivered[0], _ = f1.Delivered.between(t0.Delivered)
	_, g.Acked[1] = f0.Acked.between(t1.Acked)
	_, g.Delivered[1] = f0.Delivered.between(t1.Delivered)
	return g, true
}

// brokerBetween bounds what the broker did between two times: by live counts, else by the counters of the management API, from which
// channels that were closed take an unknown part along.
func (p *pipeline) brokerBetween(from, to time.Time) (brokerGain, bool) {
	if g, ok := p.flows.between(from, to); ok {
		return g, true
	}
	frames := reel(p.frames.frames)
	a, okA := cutBetween(frames, from, from)
	b, okB := cutBetween(frames, to, to)
	if !okA || !okB || a.Before.Gaps != b.After.Gaps || a.Before.AutoAcks != b.After.AutoAcks {
		return brokerGain{}, false
	}
	g := brokerGain{Acked: [2]float64{max(0, b.AcksLow-a.AcksHigh), b.AcksHigh - a.AcksLow},
		Delivered:   [2]float64{max(0, b.Before.Deliveries-a.After.Deliveries), b.After.Deliveries - a.Before.Deliveries},
		Redelivered: b.After.Redeliveries - a.Before.Redeliveries}
	closed, known := p.own.most(a.Before, b.After)
	if g.Closed = closed; !known || closed > 0 {
		g.Acked[1], g.Delivered[1], g.Redelivered, g.Closed = math.Inf(1), math.Inf(1), math.Inf(1), max(closed, 1)
	}
	return g, true
}

// unackedAround is the most deliveries that were unacked at about a time, as far as the broker was asked.
func (p *pipeline) unackedAround(at time.Time) float64 {
	const about = 15 * time.Second
	most := 0.0
	for _, f := range reel(p.frames.frames).span(at.Add(-about), at.Add(about)) {
		most = max(most, f.Unacked)
	}
	if capacity := float64(p.capacity()); capacity > 0 {
		return min(max(most, 1), capacity) + 1
	}
	return most + 1
}
