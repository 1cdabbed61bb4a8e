package sample

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
)

// finePace is the longest time between two readings that tell whether deliveries come one by one.
const finePace = 3 * time.Second

// LiveFrames are what the frames of a pipeline tell of how long deliveries are held. Deliveries and acks are the broker's live counts.
type LiveFrames struct {
	Frames
	Live *Live
}

// Moment is what a frame tells, with the live counts of its time.
func (t LiveFrames) Moment(i int) estimate.Moment {
	m := t.Frames.Moment(i)
	delivered, acked, less, more := t.Live.counted(m.At)
	m.Deliveries, m.Acks = delivered.Count, acked.Count
	m.Less, m.More = less, more
	m.Unsure, m.Open = max(delivered.Unsure, acked.Unsure), max(delivered.Open, acked.Open)
	return m
}

// counted is what live counts had come to at a time between two readings, if counts run evenly, or just after the last, and by how much either may then
// be too high and too low. What may be missing is as of the later one.
func (t *Live) counted(at time.Time) (delivered, acked LiveSum, less, more float64) {
	a, b := t.Around(at)
	if b == nil { // the newest frame
		return a.Delivered, a.Acked, 0, 0
	}
	da, dd, _ := t.run(at)
	delivered, acked = b.Delivered, b.Acked
	delivered.Count, acked.Count = a.Delivered.Count+dd, a.Acked.Count+da
	return delivered, acked, max(da, dd), max(b.Delivered.Count-delivered.Count, b.Acked.Count-acked.Count)
}

// Within returns the frames that live counts reach around without counting anew, nil where these begin well after a window does: then the
// counters of the management API tell more.
func (t *Live) Within(frames Frames, from time.Time) Frames {
	n := len(t.Readings)
	if n < 2 || len(frames) == 0 {
		return nil
	}
	last := &t.Readings[n-1]
	run := sort.Search(n, func(i int) bool {
		return t.Readings[i].Since.Equal(last.Since) && t.Readings[i].Automatic == last.Automatic
	})
	if run == n {
		return nil
	}
	all := frames
	frames = frames.Span(t.Readings[run].At, last.At.Add(LiveStale))
	if len(frames) < 2 {
		return nil
	}
	first, newest := frames[0].Began, all[len(all)-1].Began
	if all[0].Began.After(from) {
		from = all[0].Began
	}
	if newest.After(frames[len(frames)-1].Began) || first.Sub(from) > newest.Sub(from)/10+LiveStale {
		return nil
	}
	return frames
}

// Pace is how the deliveries of neighbouring readings differ since a time.
func (t *Live) Pace(from time.Time) estimate.Pace {
	var p estimate.Pace
	for i := sort.Search(len(t.Readings), func(i int) bool { return !t.Readings[i].At.Before(from) }) + 2; i < len(t.Readings); i++ {
		a, b, c := &t.Readings[i-2], &t.Readings[i-1], &t.Readings[i]
		if c.At.Sub(b.At) <= finePace && b.At.Sub(a.At) <= finePace && a.Since.Equal(c.Since) {
			p.Add(b.Delivered.Count-a.Delivered.Count, c.Delivered.Count-b.Delivered.Count, b.At.Sub(a.At).Seconds(), c.At.Sub(b.At).Seconds())
		}
	}
	return p
}
