package collector

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
)

// finePace is the longest time between two readings that tell whether deliveries come one by one.
const finePace = 3 * time.Second

// A heldTape is what the frames of a pipeline tell of how long deliveries are held. Deliveries and acks are the broker's live counts.
type heldTape struct {
	sample.Frames
	flows *flowTape
}

func (t heldTape) Moment(i int) estimate.Moment {
	m := t.Frames.Moment(i)
	delivered, acked, less, more := t.flows.counted(m.At)
	m.Deliveries, m.Acks = delivered.Count, acked.Count
	m.Less, m.More = less, more
	m.Unsure, m.Open = max(delivered.Unsure, acked.Unsure), max(delivered.Open, acked.Open)
	return m
}

// counted is what live counts had come to at a time between two readings, if counts run evenly, or just after the last, and by how much either may then
// be too high and too low. What may be missing is as of the later one.
func (t *flowTape) counted(at time.Time) (delivered, acked liveSum, less, more float64) {
	a, b := t.around(at)
	if b == nil { // the newest frame
		return a.Delivered, a.Acked, 0, 0
	}
	da, dd, _ := t.run(at)
	delivered, acked = b.Delivered, b.Acked
	delivered.Count, acked.Count = a.Delivered.Count+dd, a.Acked.Count+da
	return delivered, acked, max(da, dd), max(b.Delivered.Count-delivered.Count, b.Acked.Count-acked.Count)
}

// within returns the frames that live counts reach around without counting anew, nil where these begin well after a window does: then the
// counters of the management API tell more.
func (t *flowTape) within(frames sample.Frames, from time.Time) sample.Frames {
	n := len(t.readings)
	if n < 2 || len(frames) == 0 {
		return nil
	}
	last := &t.readings[n-1]
	run := sort.Search(n, func(i int) bool {
		return t.readings[i].Since.Equal(last.Since) && t.readings[i].Automatic == last.Automatic
	})
	if run == n {
		return nil
	}
	all := frames
	frames = frames.Span(t.readings[run].At, last.At.Add(liveStale))
	if len(frames) < 2 {
		return nil
	}
	first, newest := frames[0].Began, all[len(all)-1].Began
	if all[0].Began.After(from) {
		from = all[0].Began
	}
	if newest.After(frames[len(frames)-1].Began) || first.Sub(from) > newest.Sub(from)/10+liveStale {
		return nil
	}
	return frames
}

// pace is how the deliveries of neighbouring readings differ since a time.
func (t *flowTape) pace(from time.Time) estimate.Pace {
	var p estimate.Pace
	for i := sort.Search(len(t.readings), func(i int) bool { return !t.readings[i].At.Before(from) }) + 2; i < len(t.readings); i++ {
		a, b, c := &t.readings[i-2], &t.readings[i-1], &t.readings[i]
		if c.At.Sub(b.At) <= finePace && b.At.Sub(a.At) <= finePace && a.Since.Equal(c.Since) {
			p.Add(b.Delivered.Count-a.Delivered.Count, c.Delivered.Count-b.Delivered.Count, b.At.Sub(a.At).Seconds(), c.At.Sub(b.At).Seconds())
		}
	}
	return p
}
