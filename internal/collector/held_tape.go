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
	// leastEventSlip is how late an event of a store may come although the store answers at once.
	leastEventSlip = 5 * time.Millisecond
)

// estimatedLatency is what the samples of unacked messages tell of the ack latency in a window, with the work that the store tells.
func (p *pipeline) estimatedLatency(v view, w time.Duration) estimate.Latencies {
	frames := p.frames
	from := v.now.Add(-w)
	l := estimate.Latency{Window: w, Tape: frames, Capacity: float64(p.capacity())}
	within := p.flows.Within(frames, from)
	if within != nil {
		l.Tape, l.Late = sample.LiveFrames{Frames: within, Live: &p.flows}, max(liveLate, within[len(within)-1].Began.Sub(p.flows.Readings[len(p.flows.Readings)-1].At))
	}
	if n := len(p.flows.Readings); n > 0 && v.now.Sub(p.flows.Readings[n-1].At) <= sample.LiveStale {
		l.Single = p.prefetches.Since(from) == 1
		l.Channels = p.consumersMost(from)
		l.AllAck = p.flows.Readings[n-1].Quiet.After(from)
		l.Pace = p.flows.Pace(from)
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
