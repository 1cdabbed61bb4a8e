package collector

import (
	"math"
	"sort"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A flowReading is what a broker's live counts told of the source queues of one pipeline, as of one moment. Counts are compared within one Since.
type flowReading struct {
	// Began and Ended bound the moment, At is their middle.
	At, Began, Ended time.Time
	Since            time.Time
	Quiet            time.Time // see dedup.LiveCount
	Acked, Delivered liveSum
	// Redelivered is at most, Closed the channels that were closed, MayBeClosed how many more there may be until later readings tell.
	Redelivered, Closed, MayBeClosed float64
	// Fetched are those of Delivered that somebody fetched one by one, Automatic the deliveries that need no ack.
	Fetched, Automatic float64
	// Out is how many deliveries were out at most, where OutKnown. met is true once that was looked for.
	Out           float64
	OutKnown, met bool
}

// flowOf is the sum of the counts of queues; false where the broker does not tell those of all of them.
func flowOf(c *dedup.LiveCounts, refs []dedup.QueueRef) (flowReading, bool) {
	r, unseen := flowReading{At: c.Began.Add(c.Ended.Sub(c.Began) / 2), Began: c.Began, Ended: c.Ended, Quiet: c.Began}, 0.0
	for _, ref := range refs {
		q, ok := c.Queues[ref]
		if !ok {
			return r, false
		}
		if q.Since.After(r.Since) {
			r.Since = q.Since
		}
		if q.Quiet.Before(r.Quiet) {
			r.Quiet = q.Quiet
		}
		r.Acked.add(q.Acked, q.Unsure, q.Open)
		r.Delivered.add(q.Delivered, q.DeliveredUnsure, q.DeliveredOpen)
		r.Redelivered, r.Closed, r.MayBeClosed = r.Redelivered+q.Redelivered, r.Closed+q.Closed, r.MayBeClosed+q.MayBeClosed
		r.Fetched, r.Automatic = r.Fetched+q.Fetched, r.Automatic+q.Automatic
		unseen = max(unseen, q.Unseen)
	}
	r.Closed += unseen
	return r, true
}

// joint is the side of a joint reading that the broker tells.
func (r *flowReading) joint() estimate.Joint {
	return estimate.Joint{At: r.At, Acked: r.Acked.Count, Unsure: r.Acked.Unsure, Open: r.Acked.Open,
		Delivered: r.Delivered.Count, DeliveredUnsure: r.Delivered.Unsure, DeliveredOpen: r.Delivered.Open,
		Fetched: r.Fetched, Redelivered: r.Redelivered, Closed: r.Closed, MayBeClosed: r.MayBeClosed}
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

// A flowPair takes the live counts of one pipeline's queues, for the round and for joint, which is nil where the store tells of no events.
type flowPair struct {
	refs  []dedup.QueueRef
	joint *jointPair

	mu    sync.Mutex
	fresh []flowReading
}

// take adds a reading, where the broker tells of all queues.
func (p *flowPair) take(c *dedup.LiveCounts) {
	r, ok := flowOf(c, p.refs)
	if !ok {
		return
	}
	if p.joint != nil {
		p.joint.take(r)
	}
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
	samples  []outSample // since the one before the newest reading
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
		t.readings = sample.Thin(t.readings, now, func(r *flowReading) time.Time { return r.At }, sample.OlderThan(sample.EachFor, sample.OldStep), sample.OlderThan(jointNew, jointFine))
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
	// Taken are the dead letters that were taken out of the pipeline's queues and may have been sent again, as far as that is known.
	Taken float64
	// Fetched are those of Delivered that somebody fetched one by one; known where Live.
	Fetched float64
	// Live is true where live counts told it. Slack is by how much a count may be off that was taken between two readings.
	Live  bool
	Slack float64
}

// between bounds a gain by live counts; not ok where they do not reach around both times, or counted anew in between.
func (t *flowTape) between(from, to time.Time) (brokerGain, bool) {
	f0, f1 := t.around(from)
	t0, t1 := t.around(to)
	if f0 == nil || t1 == nil || f1 == nil || t0 == nil || f1.At.Equal(f0.At) || t1.At.Equal(t0.At) || f0.Since != t1.Since || f0.Automatic != t1.Automatic || f1.At.Sub(from) > liveStale || t1.At.Sub(to) > liveStale {
		return brokerGain{}, false
	}
	g := brokerGain{Live: true, Redelivered: t1.Redelivered - f0.Redelivered, Closed: t1.Closed + t1.MayBeClosed - f0.Closed, Fetched: t1.Fetched - f0.Fetched}
	g.Acked[0], _ = f1.Acked.between(t0.Acked)
	g.Delivered[0], _ = f1.Delivered.between(t0.Delivered)
	_, g.Acked[1] = f0.Acked.between(t1.Acked)
	_, g.Delivered[1] = f0.Delivered.between(t1.Delivered)
	a0, d0, r0 := t.run(from)
	a1, d1, r1 := t.run(to)
	g.Slack = t.uneven(from) + t.uneven(to)
	lost := func(a, b liveSum) float64 { return b.Unsure - a.Unsure + b.Open }
	acked, delivered := t0.Acked.Count+a1-f0.Acked.Count-a0, t0.Delivered.Count+d1-f0.Delivered.Count-d0
	g.Acked = [2]float64{max(g.Acked[0], acked-g.Slack-f1.Acked.Open), min(g.Acked[1], acked+g.Slack+lost(f0.Acked, t1.Acked))}
	g.Delivered = [2]float64{max(g.Delivered[0], delivered-g.Slack-f1.Delivered.Open), min(g.Delivered[1], delivered+g.Slack+lost(f0.Delivered, t1.Delivered))}
	g.Redelivered = min(g.Redelivered, t0.Redelivered+r1-f0.Redelivered-r0+g.Slack)
	return g, true
}

// run is what happened from the reading before a time until then, if counts run evenly between two readings.
func (t *flowTape) run(at time.Time) (acked, delivered, redelivered float64) {
	a, b := t.around(at)
	part := 0.0
	if apart := b.At.Sub(a.At); apart > 0 {
		part = float64(at.Sub(a.At)) / float64(apart)
	}
	return part * (b.Acked.Count - a.Acked.Count), part * (b.Delivered.Count - a.Delivered.Count), part * (b.Redelivered - a.Redelivered)
}

// uneven is by how much that may be off: what chance adds, and by how much the pace differs from that of the neighbouring readings, as where
// traffic begins or ends.
func (t *flowTape) uneven(at time.Time) float64 {
	i := sort.Search(len(t.readings), func(i int) bool { return t.readings[i].At.After(at) })
	most, least := 0.0, math.Inf(1)
	for j := i - 1; j <= i+1; j++ {
		if j < 1 || j >= len(t.readings) {
			least = 0 // traffic may have begun just then, or end
			continue
		}
		a, b, around := &t.readings[j-1], &t.readings[j], t.readings[i].At.Sub(t.readings[i-1].At)
		pace := (b.Delivered.Count - a.Delivered.Count) * float64(around) / float64(b.At.Sub(a.At))
		most, least = max(most, pace), min(least, pace)
	}
	// Nothing is taken for calm because its own second was: the moment of a reading is known to half of what it took alone, and a burst may
	// begin in that.
	const bracket = 0.05
	return 1 + 1.5*math.Sqrt(most) + bracket*most + most - least
}

// brokerBetween bounds what the broker did between two times: by live counts, else by the counters of the management API, from which
// channels that were closed take an unknown part along.
func (p *pipeline) brokerBetween(from, to time.Time) (brokerGain, bool) {
	if g, ok := p.flows.between(from, to); ok {
		g.Taken = p.takenBetween(from, to)
		return g, true
	}
	frames := p.frames
	a, okA := rate.CutBetween(frames, from, from)
	b, okB := rate.CutBetween(frames, to, to)
	if !okA || !okB || a.Before.Gaps != b.After.Gaps || a.Before.AutoAcks != b.After.AutoAcks {
		return brokerGain{}, false
	}
	g := brokerGain{Taken: p.takenBetween(from, to), Acked: [2]float64{max(0, b.AcksLow-a.AcksHigh), b.AcksHigh - a.AcksLow},
		Delivered:   [2]float64{max(0, b.Before.Deliveries-a.After.Deliveries), b.After.Deliveries - a.Before.Deliveries},
		Redelivered: b.After.Redeliveries - a.Before.Redeliveries}
	closed, known := p.own.Most(a.Before, b.After)
	if g.Closed = closed; !known || closed > 0 {
		g.Acked[1], g.Delivered[1], g.Redelivered, g.Closed = math.Inf(1), math.Inf(1), math.Inf(1), max(closed, 1)
	}
	return g, true
}

// takenBetween counts the dead letters that were taken out between two times and rate.UndoneReach before; 0 where nobody counted them.
func (p *pipeline) takenBetween(from, to time.Time) float64 {
	frames := p.frames
	last, ok := frames.After(to.Add(sample.CounterLag))
	if !ok && len(frames) > 0 {
		last, ok = &frames[len(frames)-1], true
	}
	if !ok {
		return 0
	}
	first, ok := frames.Before(from.Add(-rate.UndoneReach))
	if !ok {
		first = &frames[0]
	}
	if first.DeadGaps != last.DeadGaps {
		return 0
	}
	return max(0, last.DeadSettled-first.DeadSettled)
}

// unackedAround is the most deliveries that were unacked at a time: no more than consumers may hold, nor than a little before with what was
// delivered since and not acked. Where nothing bounds them it is what was seen at about that time. The broker's samples are seconds old and miss
// bursts: what live counts show to have been delivered and not acked since any moment shortly before is believed too.
func (p *pipeline) unackedAround(at time.Time) float64 {
	const about = 15 * time.Second
	most, seen := math.Inf(1), 0.0
	if capacity := p.capacities.since(at.Add(-about)); capacity > 0 { // who could hold more may have left since
		most = float64(capacity)
	}
	best := most
	for _, f := range p.frames.Span(at.Add(-about), at.Add(about)) {
		seen = max(seen, f.Unacked)
		if g, ok := p.flows.between(f.DepthFrom, at); ok && !f.Blind && f.Ended.Before(at) {
			best = min(best, f.Unacked+g.Delivered[1]-g.Acked[0])
		}
	}
	if math.IsInf(best, 1) {
		best = seen
	}
	return min(most, max(best, p.flows.piled(at, about)), p.flows.outAt(at)) + 1
}

// piled is by how much deliveries less acks rose at most up to a time, since any moment that is not longer before it.
func (t *flowTape) piled(at time.Time, before time.Duration) float64 {
	first := sort.Search(len(t.readings), func(i int) bool { return t.readings[i].At.After(at.Add(-before)) })
	last := sort.Search(len(t.readings), func(i int) bool { return t.readings[i].At.After(at) })
	if last == len(t.readings) {
		last--
	}
	most := 0.0
	for i := first; i < last; i++ {
		if from, to := &t.readings[i], &t.readings[last]; from.Since == to.Since {
			most = max(most, to.Delivered.Count-from.Delivered.Count-to.Acked.Count+from.Acked.Count)
		}
	}
	return most
}

// after is the first joint reading that is later than a time.
func (t *jointTape) after(at time.Time) int {
	return sort.Search(len(t.readings), func(i int) bool { return t.readings[i].At.After(at) })
}
