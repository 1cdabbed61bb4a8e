package collector

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
)

// leastByRows bounds the duplicates of a span from below by the rows that are there: what was acked and has no row of its own met one. Of what met a
// row some may not have met done work: those rows are there, too, but for those from before the span, those that closed channels left since rows were
// counted, of which each lost one delivery or all that it held, and what copies met. It is 0 where nothing tells so.
func (p *pipeline) leastByRows(v view, span rate.HitsSpan, gain sample.Gain, again rate.HitsAgain) float64 {
	frames, rows := p.frames, &p.store.inserts
	if !span.ByIDs || len(rows.Readings) == 0 || len(frames) == 0 || v.stats.Pass == nil {
		return 0
	}
	s := rate.IDGap{Scheme: v.scheme, From: rows.At(span.From), To: rows.At(span.To)}
	each := float64(rate.Residual{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetches.Since(s.From.At)}.LostPerChannel())
	if s.From.At.After(span.From) || each <= 0 || again.Rows.Until.IsZero() {
		return 0
	}
	p.reachBack(&s)
	last, ok := frames.After(span.To.Add(sample.CounterLag))
	if !ok {
		last = &frames[len(frames)-1]
	}
	closed := p.closedBetween(s.From.At, span.From) + min(gain.Closed, p.closedBetween(again.Rows.Until, span.To))
	left := s.StuckBefore(p.waitingAround(s.From.At)) + closed*each + p.returned(s, last)
	return max(0, gain.Acked[0]-gain.Fetched-p.askedAround(v, span.From)-(span.Written-again.Rows.Unacked)-left-rate.CopiesOf(v.scheme, v.stats.Pass, span, again))
}

// closedBetween is how many channels were closed between two times; +Inf where that is not known, and 0 where the second is not later.
func (p *pipeline) closedBetween(from, to time.Time) float64 {
	if !from.Before(to) {
		return 0
	}
	if g, ok := p.brokerBetween(from, to); ok {
		return g.Closed
	}
	return math.Inf(1)
}
