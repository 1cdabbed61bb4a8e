package collector

import (
	"math"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
)

// leftRows bounds the hits of a span that met a row whose work was not done, or whose consumer died before the ack, of which so many died: as leftUndone
// does by the rows that were there a settling time ago, and by the channels that were closed, of which each lost one delivery, or all that it held.
// It is +Inf where nothing bounds them. A failure must leave no row, or not come back.
func (p *pipeline) leftRows(v view, span rate.HitsSpan, gain sample.Gain, died float64) float64 {
	frames, rows := p.frames, &p.store.inserts
	if !span.ByIDs || len(rows.Readings) == 0 || len(frames) == 0 || v.scheme.OnFail != "ack" && v.scheme.OnFail != "delete" {
		return math.Inf(1)
	}
	s := rate.IDGap{Scheme: v.scheme, From: rows.At(span.From), To: rows.At(span.To)}
	each := float64(rate.Residual{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(s.From.At)}.LostPerChannel())
	if s.From.At.After(span.From) || each <= 0 {
		return math.Inf(1)
	}
	p.reachBack(&s)
	last, ok := frames.After(span.To.Add(sample.CounterLag))
	if !ok {
		last = &frames[len(frames)-1]
	}
	closed := gain.Closed
	if g, ok := p.brokerBetween(s.From.At, span.To); ok {
		closed = max(closed, g.Closed)
	}
	lately := closed
	if g, ok := p.brokerBetween(s.To.At, span.To); ok {
		lately = min(lately, g.Closed)
	}
	waiting := p.waitingAround(s.From.At)
	return min(closed*each+s.StuckBefore(waiting), s.Stuck(waiting)+lately*each+died) + p.returned(s, last)
}
