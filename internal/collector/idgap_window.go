package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

// idGapFigures computes what the inserts of the pipeline's table tell of one window. A store that never told of any is none for
// this source, which stands in the list of the sources alone.
func (c *Collector) idGapFigures(p *pipeline, v view, w time.Duration) rate.IDGapResult {
	if p.store == nil || !p.store.inserts.Told {
		why := v.storeDown
		if why == "" {
			why = "the store is no table whose ids tell of failed inserts"
		}
		return rate.IDGapResult{Rate: rate.Refused(w, rate.IDGapSource, rate.IDGapFormula, why, "")}
	}
	t := &p.store.inserts
	s := rate.IDGap{Window: w, Scheme: v.scheme, Server: v.stats.Health.Version, Now: v.now, Why: joinReasons(v.storeDown, t.Why), Conflated: p.conflated(v)}
	if s.Why == "" && p.partner != "" {
		s.Why = fmt.Sprintf("the store is shared with pipeline %s", name(p.partner))
	}
	if len(t.Readings) > 0 {
		s.To = t.Newest()
		s.From = t.Since(s.To.At.Add(-w))
		s.From = p.readBefore(s.From, s.To)
		p.reachBack(&s)
		s.Back = p.cameBack(s.Reach.At, s.From.At, s.To.Last)
		s.Back.Left = p.leftUndone(s, v.several)
	}
	return s.Estimate()
}

// reachBack sets the count that lies rate.UndoneReach before the first of a sample. Where inserts were counted for less long, or the broker was read for
// less long, no more messages had left a row undone before than there were messages when that began.
func (p *pipeline) reachBack(s *rate.IDGap) {
	reach := s.From.At.Add(-rate.UndoneReach)
	if s.Reach = p.store.inserts.At(reach); !s.Reach.At.After(reach) {
		return
	}
	if len(p.frames) > 0 && !s.From.At.Before(p.frames[0].Ended) && s.Reach.At.Before(p.frames[0].Ended) {
		s.Reach = p.store.inserts.Since(p.frames[0].Ended)
	}
	s.Unreached = p.depthAt(s.Reach.At)
}

// readBefore returns the first count of inserts before which the broker was read, where that costs less than a quarter of the time from one until
// another, else that one: what the broker did before its first reading is unknown.
func (p *pipeline) readBefore(from, to dedup.InsertStats) dedup.InsertStats {
	if len(p.frames) == 0 {
		return from
	}
	first := p.frames[0].Ended
	if lost := first.Sub(from.At); lost > 0 && lost < to.At.Sub(from.At)/4 {
		return p.store.inserts.Since(first)
	}
	return from
}

// conflated is that of the store's ids.
func (p *pipeline) conflated(v view) string {
	return finding.Conflated(v.stats.Pass, v.stats.Facts, p.IDFrom)
}
