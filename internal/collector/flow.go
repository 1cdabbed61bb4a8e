package collector

import (
	"math"
	"sync"

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
