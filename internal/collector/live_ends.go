package collector

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
)

// unackedEnds bounds what was unacked at both ends of a time; nil where that is not known.
func (p *pipeline) unackedEnds(r estimate.Residual) *[2]float64 {
	begun, okBegun := p.mostUnacked(r.From)
	ended, okEnded := p.mostUnacked(r.To)
	if !okBegun || !okEnded {
		return nil
	}
	return &[2]float64{begun, ended}
}

// mostUnacked bounds what was unacked at a time: what the broker's samples saw at about then, and what was unacked at the least shortly
// before with all that was delivered since and not acked, as live counts tell. Samples may be of depths that were taken sample.DepthLag before.
func (p *pipeline) mostUnacked(at time.Time) (float64, bool) {
	const about = 15 * time.Second
	if n := len(p.flows.Readings); n == 0 || p.flows.Readings[0].At.After(at.Add(-about)) || p.flows.Readings[n-1].At.Before(at) {
		return 0, false
	}
	least, most := math.Inf(1), math.Inf(-1)
	span := p.frames.Span(at.Add(-about), at)
	for i := range span {
		if f := &span[i]; !f.Blind {
			least, most = min(least, f.Unacked), max(most, f.Unacked)
		}
	}
	if math.IsInf(least, 1) {
		return 0, false
	}
	// Acks may come at once with the time: it is the reading of that very moment that tells, and the next one.
	most = max(most, least+max(p.flows.Piled(at.Add(-1), about+sample.DepthLag), p.flows.Piled(at, about+sample.DepthLag))) + 1
	return min(most, p.flows.OutAt(at)+1), true
}
