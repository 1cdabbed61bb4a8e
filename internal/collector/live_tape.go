package collector

import (
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// outReach is how old a sample of what is out may be when a reading is joined with it.
const outReach = 2 * time.Second

// lateCounts is how long the broker's live counts may take to tell what a closed channel took along.

const lateCounts = 10 * time.Second

// An outSample is how many deliveries of a pipeline were out at a moment between two times, as the queues said themselves.
type outSample struct {
	began, ended time.Time
	unacked      float64
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

// redeliveredLive is what live counts tell of a window, and of what they told a little later.
func (t *flowTape) redeliveredLive(from, to time.Time) (float64, bool) {
	g, ok := t.between(from, to)
	if !ok {
		return 0, false
	}
	for i := range t.readings {
		at := t.readings[i].At
		if at.Before(to) || at.Sub(to) > lateCounts {
			continue
		}
		if late, ok := t.between(from, at.Add(-time.Nanosecond)); ok {
			g.Redelivered = max(g.Redelivered, late.Redelivered)
		}
	}
	return g.Redelivered, true
}

// meet joins the newest readings with samples of what was out: no more was then than a little before, with what was delivered since.
func (t *flowTape) meet(fresh []outSample) {
	t.samples = append(t.samples, fresh...)
	for i := len(t.readings) - 1; i > 0 && !t.readings[i].met; i-- {
		r := &t.readings[i]
		r.met = true
		k := sort.Search(len(t.samples), func(k int) bool { return t.samples[k].ended.After(r.Began) }) - 1
		if k < 0 || r.Began.Sub(t.samples[k].ended) > outReach {
			continue
		}
		s := t.samples[k]
		j := sort.Search(i, func(j int) bool { return t.readings[j].Ended.After(s.began) }) - 1
		if j >= 0 && t.readings[j].Since.Equal(r.Since) && s.began.Sub(t.readings[j].Ended) <= outReach {
			_, delivered := t.readings[j].Delivered.between(r.Delivered)
			r.Out, r.OutKnown = s.unacked+delivered, true
		}
	}
	if n := len(t.samples); n > 1 {
		t.samples = append(t.samples[:0], t.samples[n-1])
	}
}

// outAt bounds what was out at a time by the samples next to it; +Inf where nothing does.
func (t *flowTape) outAt(at time.Time) float64 {
	a, b := t.around(at)
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
