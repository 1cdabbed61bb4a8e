package collector

import (
	"math"
	"time"
)

// unrest bounds by how many messages the counts of the broker and of the store may differ at a time: by what is out then, and by how
// uneven the pace is. +Inf where live counts do not reach around it.
func (p *pipeline) unrest(at time.Time) float64 {
	if a, b := p.flows.Around(at); a == nil || b == nil {
		return math.Inf(1)
	}
	return p.unackedAround(at) + p.flows.Uneven(at)
}
