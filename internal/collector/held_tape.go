package collector

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
)

const (
	// liveLate is how late live counts come: they lie at most so far from the moment of a frame, unless they have ended since.
	liveLate = time.Second
	// finePace is the longest time between two readings that tell whether deliveries come one by one.
	finePace = 3 * time.Second
	// leastEventSlip is how late an event of a store may come although the store answers at once.
	leastEventSlip = 5 * time.Millisecond
)

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

// estimatedLatency is what the samples of unacked messages tell of the ack latency in a window, with the work that the store tells.
func (p *pipeline) estimatedLatency(v view, w time.Duration) estimate.Latencies {
	frames := p.frames
	from := v.now.Add(-w)
	l := estimate.Latency{Window: w, Tape: frames, Capacity: float64(p.capacity())}
	within := p.flows.within(frames, from)
	if within != nil {
		l.Tape, l.Late = heldTape{within, &p.flows}, max(liveLate, within[len(within)-1].Began.Sub(p.flows.readings[len(p.flows.readings)-1].At))
	}
	if n := len(p.flows.readings); n > 0 && v.now.Sub(p.flows.readings[n-1].At) <= liveStale {
		l.Single = p.prefetchSince(from) == 1
		l.Channels = p.consumersMost(from)
		l.AllAck = p.flows.readings[n-1].Quiet.After(from)
		l.Pace = p.flows.pace(from)
	}
	if (within != nil || frames.CountsAll(from)) && p.whyNoWork(v) == "" {
		l.Work, l.Slip = p.store.works, max(leastEventSlip, v.stats.Health.LatencyP99)
	}
	return l.Estimate()
}

// works are those that the store's events told of between two times.
func (w *storeWatch) works(from, to time.Time) (estimate.Works, bool) {
	readings := w.told.Epoch()
	i := sort.Search(len(readings), func(i int) bool { return !readings[i].At.Before(from) })
	j := sort.Search(len(readings), func(j int) bool { return readings[j].At.After(to) }) - 1
	if i >= j {
		return estimate.Works{}, false
	}
	first, last := readings[i].Work.Sketch(), readings[j].Work.Sketch()
	return estimate.Works{From: readings[i].At, To: readings[j].At, Times: last.Since(first)}, true
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
