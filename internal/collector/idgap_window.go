package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// idGapFigures computes what the inserts of the pipeline's table tell of one window, and false where the store has none.
func (c *Collector) idGapFigures(p *pipeline, v view, w time.Duration) (idGapResult, bool) {
	if p.store == nil || !p.store.inserts.told {
		return idGapResult{}, false
	}
	t := &p.store.inserts
	s := idGapSample{Window: w, Scheme: v.scheme, Server: v.stats.Health.Version, Now: v.now, Why: joinReasons(v.storeDown, t.why)}
	if s.Why == "" && p.partner != "" {
		s.Why = fmt.Sprintf("the store is shared with pipeline %s", name(p.partner))
	}
	if len(t.readings) > 0 {
		s.To = t.newest()
		s.From = t.at(s.To.At.Add(-w))
		s.Reach = t.at(s.From.At.Add(-undoneReach))
	}
	return idGap(s), true
}

// idGapBeside adds the id gap to the estimates, and makes it the rate where nothing is reported.
func (c *Collector) idGapBeside(out *dedup.WindowFigures, p *pipeline, v view) {
	r, ok := c.idGapFigures(p, v, out.Window)
	if !ok {
		return
	}
	out.Estimates = append(out.Estimates, dedup.Estimate{Method: dedup.MethodIDGap, Rate: r.Rate})
	out.Swallowed, out.Lost = r.Swallowed, r.Lost
	if !out.WorkMean.Known() && r.Work.Known() {
		out.WorkMean = r.Work
	}
	switch {
	case out.DuplicateRate.Known():
	case r.Rate.Known():
		out.DuplicateRate, out.Duplicates, out.Messages = r.Rate, r.Duplicates, r.Messages
	default:
		// Nothing is reported, and so it stays said why.
		r.Rate.Why = joinReasons(out.DuplicateRate.Why, r.Rate.Why)
		out.DuplicateRate = r.Rate
	}
}
