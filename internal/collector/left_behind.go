package collector

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// leadOfClosed is how long before duplicates are counted a channel may have been closed that left them behind.
const leadOfClosed = 5 * time.Minute

// leftBehind fills in what bounds the duplicates that closed channels left behind, over the span of the duplicate rate.
func (p *pipeline) leftBehind(out *dedup.WindowFigures, v view) {
	out.ChannelsClosed = dedup.Unknown(dedup.Count, "the broker did not count all closed channels of this span")
	out.ChannelsClosed.Window = out.Window
	rate := out.DuplicateRate
	if !rate.Known() {
		return
	}
	from := rate.At.Add(-rate.Covered)
	out.LostPerChannel = p.lostPerChannel(v, from)
	out.ChannelsClosed = p.channelsClosed(out.ChannelsClosed, from)
}

// lostPerChannel is the most completed deliveries that one channel left unacked, of those closed since a time or not long before
// it; 0 when no bound is known for all of that time.
func (p *pipeline) lostPerChannel(v view, from time.Time) int64 {
	s := residualSample{Scheme: v.scheme, Several: p.several(v.scheme)}
	if len(p.prefetches) > 0 && !p.prefetches[0].at.After(from) {
		s.Prefetch = p.prefetchSince(from.Add(-leadOfClosed))
	}
	return s.lostPerChannel()
}

// channelsClosed bounds the pipeline's channels that were closed since a time or not long before it.
func (p *pipeline) channelsClosed(f dedup.Figure, from time.Time) dedup.Figure {
	frames := p.frames.frames
	if len(frames) == 0 || from.Before(frames[0].Began) {
		return f
	}
	first, ok := reel(frames).before(from.Add(-leadOfClosed))
	if !ok {
		first = &frames[0]
	}
	last := &frames[len(frames)-1]
	most, ok := p.own.most(first, last)
	if !ok {
		return f
	}
	f.Quality, f.Why, f.High = dedup.Derived, "", most
	f.Source, f.Formula = "closed channels of the broker", "at most: closed channels less those that were provably of others"
	f.Covered, f.At, f.N = last.Ended.Sub(first.Began), last.Ended, most
	return f
}
