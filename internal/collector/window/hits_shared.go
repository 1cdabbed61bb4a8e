package window

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
func (h hits) judgeShared(span rate.HitsSpan, gain sample.Gain, w time.Duration, why string) rate.HitsResult {
	f := span.Figure(w)
	all, ok := h.gainOfSharers(span)
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
	met := estimate.Hits{Hits: [2]float64{0, most}, Undone: [2]float64{0, most}, Messages: gain.Acked}
	out := rate.OfHits(f, met, rate.ProvenHits(h.view.Scheme, h.view.Stats.Health.Version))
	if out.Rate.Known() {
		out.Rate.Value, out.Rate.Hits, out.Rate.Quality, out.Rate.Why = out.Rate.Low, 0, dedup.Derived, "at most: "+why
	}
	return out
}

// A sharedGain is what the broker did with the messages of all pipelines of one store: Delivered at most, acked at least, and what was unacked
// before, at most.
type sharedGain struct{ delivered, acked, waiting, slack float64 }

// gainOfSharers sums what the broker did between two readings of a store; not ok where it does not tell of each of its pipelines.
func (h hits) gainOfSharers(span rate.HitsSpan) (sharedGain, bool) {
	var all sharedGain
	for _, other := range h.store.Users {
		g, ok := other.Traffic.between(span.From.Add(-span.FromTook), span.To)
		if !ok {
			return all, false
		}
		all.delivered += g.Delivered[1]
		all.acked += g.Acked[0]
		all.waiting += other.Traffic.unackedAround(span.From)
		all.slack += g.Slack
	}
	return all, true
}
