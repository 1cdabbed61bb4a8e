package collector

import (
	"math"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// oneWaiting is how many acks may be on their way, of the pipeline on average, for channels to have at most one each.
const oneWaiting = 0.25

// acksLost bounds the acks that so many closed channels took along. Consumers that ack each delivery before they take up the next one have at
// most one finished delivery for each channel. Where more claims are open than that explains, they may work on several; but acks that follow
// at once leave no two of a channel waiting.
func (p *pipeline) acksLost(r estimate.Residual, scheme dedup.Scheme, several string, closed float64) float64 {
	if r.Waiting <= oneWaiting {
		several = ""
	}
	each := rate.Residual{Scheme: scheme, Several: several, Prefetch: p.prefetches.Since(r.From)}.LostPerChannel()
	switch {
	case closed == 0:
		return 0
	case each <= 0:
		return math.Inf(1)
	}
	return closed * float64(each)
}

// channelsClosed bounds the closed channels of the pipeline: those whose rows went, or those of the whole broker that nobody else is known to
// have had, whichever are fewer. The broker's count is older than the rows: what went since that shows is added.
func (p *pipeline) channelsClosed(r estimate.Residual) float64 {
	frames := p.frames
	first, ok := frames.Before(r.From)
	if !ok {
		return r.Closed
	}
	last := &frames[len(frames)-1]
	most, known := p.own.Most(first, last)
	if !known {
		return r.Closed
	}
	return min(r.Closed, most+p.joints.ClosedSince(last.Began.Add(-sample.CounterLag)))
}
