package collector

import (
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// leadOfClosed is how long before duplicates are counted a channel may have been closed that left them behind.
const leadOfClosed = 5 * time.Minute

// leftBehind fills in what bounds the duplicates that closed channels left behind, over the span of the duplicate rate.
func (p *pipeline) leftBehind(out *dedup.WindowFigures, v view) {
	rate := out.DuplicateRate
	if !rate.Known() {
		return
	}
	from := rate.At.Add(-rate.Covered)
	out.LostPerChannel = p.lostPerChannel(v, from)
	out.MostClosed = p.mostClosed(from)
}

// lostPerChannel is the most completed deliveries that one channel left unacked, of those closed since a time or not long before
// it; 0 when no bound is known for all of that time.
func (p *pipeline) lostPerChannel(v view, from time.Time) int64 {
	s := rate.Residual{Scheme: v.scheme, Several: v.several}
	if len(p.prefetches) > 0 && !p.prefetches[0].At.After(from) {
		s.Prefetch = p.prefetches.Since(from.Add(-leadOfClosed))
	}
	return s.LostPerChannel()
}

// mostClosed bounds the pipeline's channels that were closed since a time or not long before it; nil where nothing does.
func (p *pipeline) mostClosed(from time.Time) *float64 {
	frames := p.frames
	if len(frames) == 0 || from.Before(frames[0].Began) {
		return nil
	}
	first, ok := sample.Frames(frames).Before(from.Add(-leadOfClosed))
	if !ok {
		first = &frames[0]
	}
	most, ok := p.own.Most(first, &frames[len(frames)-1])
	if !ok {
		return nil
	}
	return &most
}
