package collector

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
)

// diedAsking bounds the deliveries that asked the store, and whose consumers died before the ack: each comes again and asks again, so that two hits
// are of one ack.
func (p *pipeline) diedAsking(v view, span rate.HitsSpan, gain sample.Gain) float64 {
	if gain.Closed <= 0 {
		return 0
	}
	s := rate.Residual{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetches.Since(span.From)}
	return gain.DiedAsking(s.LostPerChannel(), s.Prefetch, min(gain.Closed, p.closedSinceTaken(span.From, span.To)))
}

// closedSinceTaken counts the channels that were closed up to a time whose deliveries may wait yet: those since the newest moment of which all that
// was ready then has been delivered. They wait as long as no consumer is there, or none has room. It is infinite where no moment since from is one.
func (p *pipeline) closedSinceTaken(from, to time.Time) float64 {
	frames := p.frames.Span(from, to)
	for i := len(frames) - 1; i >= 0; i-- {
		f := &frames[i]
		if f.Blind || f.DepthFrom.Before(from) || f.Ended.After(to) {
			continue
		}
		ready := f.Depth - f.Unacked
		if ready > 0 {
			// What came back since may have been delivered before it.
			g, ok := p.brokerBetween(f.Ended, to)
			if !ok || g.Delivered[0]-g.Redelivered < ready {
				continue
			}
		}
		if g, ok := p.brokerBetween(f.DepthFrom, to); ok {
			return g.Closed
		}
	}
	return math.Inf(1)
}
