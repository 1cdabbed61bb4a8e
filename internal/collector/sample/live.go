package sample

import (
	"math"
	"sort"
	"time"
)

// outReach is how old a sample of what is out may be when a reading is joined with it.
const outReach = 2 * time.Second

// LateCounts is how long the broker's live counts may take to tell what a closed channel took along.

const LateCounts = 10 * time.Second

// An OutSample is how many deliveries of a pipeline were out at a moment between two times, as the queues said themselves.
type OutSample struct {
	Began, Ended time.Time
	Unacked      float64
}

// A Live is what live counts told of one pipeline, in time order.
type Live struct {
	Readings []LiveReading
	added    int
	samples  []OutSample // since the one before the newest reading
}

// Add takes readings that came since the last time.
func (t *Live) Add(fresh []LiveReading, now time.Time) {
	for _, r := range fresh {
		if n := len(t.Readings); n > 0 && !r.At.After(t.Readings[n-1].At) { // the clock was set back
			t.Readings = t.Readings[:0]
		}
		t.Readings = append(t.Readings, r)
	}
	if t.added += len(fresh); t.added >= 64 {
		t.added = 0
		t.Readings = Thin(t.Readings, now, func(r *LiveReading) time.Time { return r.At }, OlderThan(EachFor, OldStep), OlderThan(jointNew, jointFine))
	}
}

// Around returns the readings on both sides of a time.
func (t *Live) Around(at time.Time) (before, after *LiveReading) {
	i := sort.Search(len(t.Readings), func(i int) bool { return t.Readings[i].At.After(at) })
	if i > 0 {
		before = &t.Readings[i-1]
	}
	if i < len(t.Readings) {
		after = &t.Readings[i]
	}
	return before, after
}

// Between bounds a gain by live counts; not ok where they do not reach around both times, or counted anew in between.
func (t *Live) Between(from, to time.Time) (Gain, bool) {
	f0, f1 := t.Around(from)
	t0, t1 := t.Around(to)
	if f0 == nil || t1 == nil || f1 == nil || t0 == nil || f1.At.Equal(f0.At) || t1.At.Equal(t0.At) || f0.Since != t1.Since || f0.Automatic != t1.Automatic || f1.At.Sub(from) > LiveStale || t1.At.Sub(to) > LiveStale {
		return Gain{}, false
	}
	g := Gain{Live: true, Redelivered: t1.Redelivered - f0.Redelivered, Closed: t1.Closed + t1.MayBeClosed - f0.Closed, Fetched: t1.Fetched - f0.Fetched}
	g.Acked[0], _ = f1.Acked.between(t0.Acked)
	g.Delivered[0], _ = f1.Delivered.between(t0.Delivered)
	_, g.Acked[1] = f0.Acked.between(t1.Acked)
	_, g.Delivered[1] = f0.Delivered.between(t1.Delivered)
	a0, d0, r0 := t.run(from)
	a1, d1, r1 := t.run(to)
	g.Slack = t.Uneven(from) + t.Uneven(to)
	lost := func(a, b LiveSum) float64 { return b.Unsure - a.Unsure + b.Open }
	acked, delivered := t0.Acked.Count+a1-f0.Acked.Count-a0, t0.Delivered.Count+d1-f0.Delivered.Count-d0
	g.Acked = [2]float64{max(g.Acked[0], acked-g.Slack-f1.Acked.Open), min(g.Acked[1], acked+g.Slack+lost(f0.Acked, t1.Acked))}
	g.Delivered = [2]float64{max(g.Delivered[0], delivered-g.Slack-f1.Delivered.Open), min(g.Delivered[1], delivered+g.Slack+lost(f0.Delivered, t1.Delivered))}
	g.Redelivered = min(g.Redelivered, t0.Redelivered+r1-f0.Redelivered-r0+g.Slack)
	return g, true
}

// run is what happened from the reading before a time until then, if counts run evenly between two readings.
func (t *Live) run(at time.Time) (acked, delivered, redelivered float64) {
	a, b := t.Around(at)
	part := 0.0
	if apart := b.At.Sub(a.At); apart > 0 {
		part = float64(at.Sub(a.At)) / float64(apart)
	}
	return part * (b.Acked.Count - a.Acked.Count), part * (b.Delivered.Count - a.Delivered.Count), part * (b.Redelivered - a.Redelivered)
}

// Uneven is by how much that may be off: what chance adds, and by how much the pace differs from that of the neighbouring readings, as where
// traffic begins or ends.
func (t *Live) Uneven(at time.Time) float64 {
	i := sort.Search(len(t.Readings), func(i int) bool { return t.Readings[i].At.After(at) })
	most, least := 0.0, math.Inf(1)
	for j := i - 1; j <= i+1; j++ {
		if j < 1 || j >= len(t.Readings) {
			least = 0 // traffic may have begun just then, or end
			continue
		}
		a, b, around := &t.Readings[j-1], &t.Readings[j], t.Readings[i].At.Sub(t.Readings[i-1].At)
		pace := (b.Delivered.Count - a.Delivered.Count) * float64(around) / float64(b.At.Sub(a.At))
		most, least = max(most, pace), min(least, pace)
	}
	// Nothing is taken for calm because its own second was: the moment of a reading is known to half of what it took alone, and a burst may
	// begin in that.
	const bracket = 0.05
	return 1 + 1.5*math.Sqrt(most) + bracket*most + most - least
}

// Piled is by how much deliveries less acks rose at most up to a time, since any moment that is not longer before it.
func (t *Live) Piled(at time.Time, before time.Duration) float64 {
	first := sort.Search(len(t.Readings), func(i int) bool { return t.Readings[i].At.After(at.Add(-before)) })
	last := sort.Search(len(t.Readings), func(i int) bool { return t.Readings[i].At.After(at) })
	if last == len(t.Readings) {
		last--
	}
	most := 0.0
	for i := first; i < last; i++ {
		if from, to := &t.Readings[i], &t.Readings[last]; from.Since == to.Since {
			most = max(most, to.Delivered.Count-from.Delivered.Count-to.Acked.Count+from.Acked.Count)
		}
	}
	return most
}

// Redelivered is what live counts tell of a window, and of what they told a little later.
func (t *Live) Redelivered(from, to time.Time) (float64, bool) {
	g, ok := t.Between(from, to)
	if !ok {
		return 0, false
	}
	for i := range t.Readings {
		at := t.Readings[i].At
		if at.Before(to) || at.Sub(to) > LateCounts {
			continue
		}
		if late, ok := t.Between(from, at.Add(-time.Nanosecond)); ok {
			g.Redelivered = max(g.Redelivered, late.Redelivered)
		}
	}
	return g.Redelivered, true
}

// AddOut joins the newest readings with samples of what was out: no more was then than a little before, with what was delivered since.
func (t *Live) AddOut(fresh []OutSample) {
	t.samples = append(t.samples, fresh...)
	for i := len(t.Readings) - 1; i > 0 && !t.Readings[i].met; i-- {
		r := &t.Readings[i]
		r.met = true
		k := sort.Search(len(t.samples), func(k int) bool { return t.samples[k].Ended.After(r.Began) }) - 1
		if k < 0 || r.Began.Sub(t.samples[k].Ended) > outReach {
			continue
		}
		s := t.samples[k]
		j := sort.Search(i, func(j int) bool { return t.Readings[j].Ended.After(s.Began) }) - 1
		if j >= 0 && t.Readings[j].Since.Equal(r.Since) && s.Began.Sub(t.Readings[j].Ended) <= outReach {
			_, delivered := t.Readings[j].Delivered.between(r.Delivered)
			r.Out, r.OutKnown = s.Unacked+delivered, true
		}
	}
	if n := len(t.samples); n > 1 {
		t.samples = append(t.samples[:0], t.samples[n-1])
	}
}

// OutAt bounds what was out at a time by the samples next to it; +Inf where nothing does.
func (t *Live) OutAt(at time.Time) float64 {
	a, b := t.Around(at)
	switch {
	case a == nil || !a.OutKnown || at.Sub(a.At) > outReach:
	case at.Equal(a.At):
		return a.Out
	case b != nil && a.Since.Equal(b.Since):
		_, delivered := a.Delivered.between(b.Delivered)
		return a.Out + delivered
	}
	return math.Inf(1)
}
