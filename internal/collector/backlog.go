package collector

import (
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// noteDesertion follows the source queues of a fresh reading.
func (p *pipeline) noteDesertion(s *source.BrokerReading) {
	if late(&s.BrokerSample) {
		return
	}
	for _, ref := range p.refs {
		d := p.deserted[ref]
		d.Observe(p.broker.queues[ref], s.At)
		p.deserted[ref] = d
	}
}

// backlog looks back over the newest readings.
func (p *pipeline) backlog() finding.Backlog {
	const steps = int(finding.GrowthSpan / finding.GrowthStep)
	s, frames := finding.Backlog{Queues: p.refs}, p.counted.Traffic.Frames
	if len(frames) == 0 {
		return s
	}
	last := frames[len(frames)-1]
	lowest := make([]float64, 0, steps)
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		past := last.Began.Sub(f.Began)
		if f.Blind || f.Gaps != last.Gaps {
			return s
		}
		if step := int(past / finding.GrowthStep); step < steps && step >= len(lowest) {
			lowest = append(lowest, f.Depth-f.Unacked)
		}
		n := len(lowest) - 1
		lowest[n] = min(lowest[n], f.Depth-f.Unacked)
		if past >= finding.GrowthSpan {
			s.Ready, s.Acks = last.Depth-last.Unacked, last.Acks-f.Acks
			break
		}
	}
	if len(lowest) == steps && last.Began.Sub(frames[0].Began) >= finding.GrowthSpan {
		for i := steps - 1; i >= 0; i-- {
			s.Lowest = append(s.Lowest, lowest[i])
		}
	}
	return s
}

// backlogFindings are the queues that nobody works off, or not fast enough. What is said of a queue without consumers
// need not be said of its backlog again.
func (p *pipeline) backlogFindings() []dedup.Finding {
	var out []dedup.Finding
	for _, ref := range p.refs {
		out = append(out, finding.NoConsumers(ref.Name, p.deserted[ref])...)
	}
	if len(out) > 0 {
		return out
	}
	return finding.BacklogGrowing(p.backlog())
}
