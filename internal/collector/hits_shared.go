package collector

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// judgeShared bounds the rate of a pipeline from above while others, named by why, ask the same store: no more of its deliveries met a marker than all
// did. It refuses where not all that was acked asked.
func (c *Collector) judgeShared(p *pipeline, v view, span rate.HitsSpan, gain sample.Gain, w time.Duration, why string) rate.HitsResult {
	f := span.Figure(w)
	all, ok := c.gainOfSharers(p, span)
	asked := span.Asked[1]
	if span.OfServer {
		asked = span.OnServer
	}
	switch {
	case span.Why != "":
		f.Why, f.Better = span.Why, span.Better
		return rate.HitsResult{Rate: f}
	case !ok, asked+all.waiting+2+0.3*math.Sqrt(asked) < all.acked:
		f.Why = why
		return rate.HitsResult{Rate: f}
	}
	most := span.Hits[1]
	if span.OfServer {
		most = max(0, min(asked, all.delivered+all.waiting+all.slack)-span.Missed[0]+all.slack)
	}
	h := estimate.Hits{Hits: [2]float64{0, most}, Undone: [2]float64{0, most}, Messages: gain.Acked}
	out := rate.OfHits(f, h, rate.ProvenHits(v.scheme, v.stats.Health.Version))
	if out.Rate.Known() {
		out.Rate.Value, out.Rate.Hits, out.Rate.Quality, out.Rate.Why = out.Rate.Low, 0, dedup.Derived, "at most: "+why
	}
	return out
}

// A sharedGain is what the broker did with the messages of all pipelines of one store: Delivered at most, acked at least, and what was unacked
// before, at most.
type sharedGain struct{ delivered, acked, waiting, slack float64 }

// gainOfSharers sums what the broker did between two readings of a store; not ok where it does not tell of each of its pipelines.
func (c *Collector) gainOfSharers(p *pipeline, span rate.HitsSpan) (sharedGain, bool) {
	var all sharedGain
	for _, other := range c.pipelines {
		if other.store != p.store {
			continue
		}
		g, ok := other.brokerBetween(span.From.Add(-span.FromTook), span.To)
		if !ok {
			return all, false
		}
		all.delivered += g.Delivered[1]
		all.acked += g.Acked[0]
		all.waiting += other.unackedAround(span.From)
		all.slack += g.Slack
	}
	return all, true
}
