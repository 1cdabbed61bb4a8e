package collector

import (
	"fmt"
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
	held := p.rowsOf(v, span, again.Unacked)
	s := rate.IDGap{Scheme: v.scheme, From: rows.At(span.From), To: rows.At(span.To)}
	each := float64(rate.Residual{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(s.From.At)}.LostPerChannel())
	if s.From.At.After(span.From) || each <= 0 || held.Until.IsZero() {
		return 0
	}
	p.reachBack(&s)
	last, ok := frames.After(span.To.Add(sample.CounterLag))
	if !ok {
		last = &frames[len(frames)-1]
	}
	closed := func(from, to time.Time) float64 {
		switch g, ok := p.brokerBetween(from, to); {
		case !from.Before(to):
			return 0
		case ok:
			return g.Closed
		}
		return max(1, gain.Closed)
	}
	left := s.StuckBefore(p.waitingAround(s.From.At)) + (closed(s.From.At, span.From)+closed(held.Until, span.To))*each + p.returned(s, last)
	return max(0, gain.Acked[0]-gain.Fetched-p.askedAround(v, span.From)-(span.Written-held.Unacked)-left-rate.CopiesOf(v.scheme, v.stats.Pass, span, again))
}

// uncountedRows says that rows were inserted in a way that the server does not count; empty where none were. Some may have been under way.
func (p *pipeline) uncountedRows(v view, span rate.HitsSpan) string {
	const few = 3
	n := span.HoldRows(v.scheme, p.store.inserts.Readings, p.store.statements.Readings).Uncounted
	if n <= few {
		return ""
	}
	return fmt.Sprintf("there are %s more than the server counted inserts: some are written in a way that it does not count", counted(whole(n), "row"))
}
