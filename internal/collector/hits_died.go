package collector

import (
	"math"
	"time"
)

// diedLately is how long what a closed channel held may wait for a consumer until it comes again.
const diedLately = 5 * time.Second

// diedAsking bounds the deliveries that asked the store, and whose consumers died before the ack: each comes again and asks again, so that two hits
// are of one ack.
func (p *pipeline) diedAsking(v view, span hitsSpan, gain brokerGain) float64 {
	if gain.Closed <= 0 {
		return 0
	}
	s := residualSample{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(span.From)}
	lately := gain.Closed
	if late, ok := p.brokerBetween(span.To.Add(-diedLately), span.To); ok {
		lately = min(lately, late.Closed)
	}
	return gain.diedAsking(s.lostPerChannel(), s.Prefetch, lately)
}

// diedAsking is the most of them where a channel asked for so many that it did not ack, and held so many; 0 where nothing bounds these. Those
// of the channels that were closed lately may not have come back yet.
func (g brokerGain) diedAsking(asked, held int64, lately float64) float64 {
	most, waiting := math.Inf(1), math.Inf(1)
	if asked > 0 {
		most = g.Closed * float64(asked)
	}
	switch {
	case lately <= 0:
		waiting = 0
	case held > 0:
		waiting = lately * float64(held)
	}
	return min(most, g.Redelivered+waiting)
}
