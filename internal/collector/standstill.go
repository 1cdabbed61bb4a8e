package collector

import (
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// goingRound looks back over the newest readings of the broker step by step for as long as messages go round, but not
// beyond from.
func (p *pipeline) goingRound(held holders, from time.Time) finding.Loop {
	s := finding.Loop{Queues: p.refs}
	frames := p.frames
	if len(frames) == 0 {
		return s
	}
	last := frames[len(frames)-1]
	until := last
	for i := len(frames) - 2; i >= 0 && s.Span < finding.LoopSpan; i-- {
		f := frames[i]
		if f.Gaps != last.Gaps || f.Began.Before(from) {
			break
		}
		if until.Began.Sub(f.Began) < finding.LoopStep {
			continue
		}
		if again := until.Redeliveries - f.Redeliveries; again <= finding.LoopShare*(until.Acks-f.Acks) {
			break
		}
		s.Span, s.Redeliveries, s.Acks = last.Began.Sub(f.Began), last.Redeliveries-f.Redeliveries, last.Acks-f.Acks
		until = f
	}
	s.Held = p.suspects(held, last.Began, s.Span)
	return s
}

// holders are the markers of one pass that may hold messages back; offset is the store's clock minus ours.
type holders struct {
	markers []dedup.Marker
	offset  time.Duration
}

// suspects are the holders that the messages which do not get on may wait for: those that were processing for all of a
// span up to a moment. When there are more of them than messages they are of other messages, and nobody knows which.
func (p *pipeline) suspects(held holders, at time.Time, d time.Duration) []dedup.Marker {
	if len(held.markers) == 0 || d == 0 {
		return nil
	}
	var all []dedup.Marker
	for _, m := range held.markers {
		if age := dedup.AgeOf(m, at, held.offset); age.Known && age.Span >= d {
			all = append(all, m)
		}
	}
	out := p.gauges("")
	if !out[dedup.Ready].Known() || !out[dedup.Unacked].Known() || float64(len(all)) > out[dedup.Ready].Value+out[dedup.Unacked].Value {
		return nil
	}
	return all
}

// standstill looks for a blocked head over a minute, which is enough when messages go round, and over the longest time
// that honest work takes. It looks no further back than from; down is the outage of the store that goes on.
func (p *pipeline) standstill(held holders, from time.Time, down *outage) []dedup.Finding {
	for _, s := range []time.Duration{finding.BlockSpan, max(finding.BlockSpan, p.MaxProcessing)} {
		h := p.head(held, s, from)
		if last := len(p.frames) - 1; down != nil && h.Span > 0 && !p.frames[last].Began.Add(-h.Span).Before(down.from) {
			h.Outage = down.words()
		}
		if found := finding.HeadBlocked(h); found != nil {
			return found
		}
	}
	return nil
}

// head looks back over the newest readings of the broker.
func (p *pipeline) head(held holders, least time.Duration, from time.Time) finding.Head {
	h := finding.Head{Capacity: p.capacity(), MaxProcessing: p.MaxProcessing}
	d, frames := p.gauges(""), p.frames
	if len(frames) == 0 || !d[dedup.Ready].Known() || !d[dedup.Unacked].Known() {
		return h
	}
	last := frames[len(frames)-1]
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Blind || f.Gaps != last.Gaps || f.Began.Before(from) {
			break
		}
		if past := last.Began.Sub(f.Began); past >= least {
			h.Span, h.Acks, h.Redeliveries = past, last.Acks-f.Acks, last.Redeliveries-f.Redeliveries
			h.Growth, h.Ready, h.Unacked = last.Depth-f.Depth, d[dedup.Ready].Value, d[dedup.Unacked].Value
			if n := last.Held.Count - f.Held.Count; n > 0 {
				h.Unacked = max(h.Unacked, (last.Held.Sum-f.Held.Sum)/n)
			}
			h.Held = p.suspects(held, last.Began, past)
			break
		}
	}
	return h
}

// capacity is the most deliveries that the consumers can hold; 0 when it is not known, or when one of them has no bound.
func (p *pipeline) capacity() int64 {
	consumers := p.sourceConsumers()
	if n, known := sample.SumOver(p.broker.queues, p.refs, func(q *dedup.Queue) *int64 { return q.Consumers }); !known || n != int64(len(consumers)) {
		return 0
	}
	var sum int64
	for _, c := range consumers {
		if !c.AckRequired || c.Prefetch <= 0 {
			return 0
		}
		sum += c.Prefetch
	}
	return sum
}
