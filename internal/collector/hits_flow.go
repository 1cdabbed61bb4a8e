package collector

import (
	"math"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A flowPair takes the live counts of one pipeline's queues, for the round and for joint, which is nil where the store tells of no events.
type flowPair struct {
	refs  []dedup.QueueRef
	joint *jointPair

	mu    sync.Mutex
	fresh []sample.LiveReading
}

// take adds a reading, where the broker tells of all queues.
func (p *flowPair) take(c *dedup.LiveCounts) {
	r, ok := sample.SumLive(c, p.refs)
	if !ok {
		return
	}
	if p.joint != nil {
		p.joint.take(r)
	}
	if math.IsInf(r.Acked.Unsure+r.Acked.Open+r.Delivered.Unsure+r.Delivered.Open+r.Redelivered, 1) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = append(p.fresh, r)
}

func (p *flowPair) drain() []sample.LiveReading {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.fresh
	p.fresh = nil
	return out
}

// brokerBetween bounds what the broker did between two times: by live counts, else by the counters of the management API.
func (p *pipeline) brokerBetween(from, to time.Time) (sample.Gain, bool) {
	g, ok := p.flows.Between(from, to)
	if !ok {
		g, ok = rate.GainBetween(p.frames, p.own, from, to)
	}
	g.Taken = rate.TakenBetween(p.frames, from, to)
	return g, ok
}

// unackedAround is the most deliveries that were unacked at a time: no more than consumers may hold, nor than a little before with what was
// delivered since and not acked. Where nothing bounds them it is what was seen at about that time. The broker's samples are seconds old and miss
// bursts: what live counts show to have been delivered and not acked since any moment shortly before is believed too.
func (p *pipeline) unackedAround(at time.Time) float64 {
	const about = 15 * time.Second
	most, seen := math.Inf(1), 0.0
	if capacity := p.capacities.since(at.Add(-about)); capacity > 0 { // who could hold more may have left since
		most = float64(capacity)
	}
	best := most
	span := p.frames.Span(at.Add(-about), at.Add(about))
	for i := range span {
		f := &span[i]
		seen = max(seen, f.Unacked)
		if g, ok := p.flows.Between(f.DepthFrom, at); ok && !f.Blind && f.Ended.Before(at) {
			best = min(best, f.Unacked+g.Delivered[1]-g.Acked[0])
		}
	}
	if math.IsInf(best, 1) {
		best = seen
	}
	return min(most, max(best, p.flows.Piled(at, about)), p.flows.OutAt(at)) + 1
}
