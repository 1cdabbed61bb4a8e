package collector

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// mostOutSamples bounds the samples of one pipeline that wait for the round.
const mostOutSamples = 64

// sampleOut keeps a sample, if all queues answered as of the request: only classic ones do.
func (o *occupancy) sampleOut(pipeline string, s sample.OutSample, queues map[dedup.QueueRef]*dedup.Queue) {
	for _, ref := range o.watch[pipeline] {
		if queues[ref].Type != "classic" {
			return
		}
	}
	all := append(o.out[pipeline], s)
	o.out[pipeline] = all[max(0, len(all)-mostOutSamples):]
}

// drainOut returns the samples since the last call.
func (o *occupancy) drainOut(pipeline string) []sample.OutSample {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.out[pipeline]
	delete(o.out, pipeline)
	return all
}

const (
	// Ends of a time move by up to quietNear to a moment whose unrest is less than quietShare of theirs, and by up to quietReach only for
	// a third of what is found so: between bursts it is far less, and in steady traffic a window shall move on with every round. An unrest of
	// quietEnough stays.
	quietNear   = 5 * time.Second
	quietReach  = 10 * time.Second
	quietShare  = 0.7
	quietFar    = 0.33
	quietEnough = 6
)

// unrest bounds by how many messages the counts of the broker and of the store may differ at a time: by what is out then, and by how
// uneven the pace is. +Inf where live counts do not reach around it.
func (p *pipeline) unrest(at time.Time) float64 {
	if a, b := p.flows.Around(at); a == nil || b == nil {
		return math.Inf(1)
	}
	return p.unackedAround(at) + p.flows.Uneven(at)
}

// quieterEnds are the readings with the least unrest near the first and the last one of a time.
func (p *pipeline) quieterEnds(at func(int) time.Time, first, last int) (begin, end int) {
	end = p.quieter(at, last, first)
	return p.quieter(at, first, end), end
}

// quieter returns the reading with the least unrest near one, on its way to another. In bursts most of what is not known lies at the ends of a time.
func (p *pipeline) quieter(at func(int) time.Time, from, to int) int {
	if from == to {
		return from
	}
	here := p.unrest(at(from))
	best, least, step := from, quietShare*here, 1
	if from > to {
		step = -1
	}
	away := func(k int) time.Duration { return at(k).Sub(at(from)).Abs() }
	for k := from + step; here > quietEnough && k != to && away(k) <= quietReach; k += step {
		u, wanted := p.unrest(at(k)), least
		if away(k) > quietNear {
			wanted *= quietFar
		}
		switch {
		case u >= wanted:
		case math.IsInf(here, 1): // nothing can be counted at its end yet
			best, here, least = k, u, quietShare*u
		default:
			best, least = k, u
		}
	}
	return best
}
