package progress

import (
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

// Blocked finds messages that go round, and heads that are blocked.
func (m Messages) Blocked() []dedup.Finding {
	loop := m.goingRound()
	if m.Down != nil {
		loop.Outage = m.Down.Words()
	}
	return append(finding.LoopingMessages(loop), m.standstill()...)
}

// goingRound looks back over the newest readings step by step for as long as messages go round.
func (m Messages) goingRound() finding.Loop {
	s := finding.Loop{Queues: m.Queues}
	frames := m.Frames
	if len(frames) == 0 {
		return s
	}
	last := frames[len(frames)-1]
	until := last
	for i := len(frames) - 2; i >= 0 && s.Span < finding.LoopSpan; i-- {
		f := frames[i]
		if f.Gaps != last.Gaps || f.Began.Before(m.From) {
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
	s.Held = m.suspects(last.Began, s.Span)
	return s
}

// suspects are the holders that the messages which do not get on may wait for: those that were processing for all of a
// span up to a moment. When there are more of them than messages they are of other messages, and nobody knows which.
func (m Messages) suspects(at time.Time, d time.Duration) []dedup.Marker {
	if len(m.Held) == 0 || d == 0 {
		return nil
	}
	var all []dedup.Marker
	for _, held := range m.Held {
		if age := dedup.AgeOf(held, at, m.Offset); age.Known && age.Span >= d {
			all = append(all, held)
		}
	}
	if !m.Ready.Known() || !m.Unacked.Known() || float64(len(all)) > m.Ready.Value+m.Unacked.Value {
		return nil
	}
	return all
}

// standstill looks for a blocked head over a minute, which is enough when messages go round, and over the longest time
// that processing takes.
func (m Messages) standstill() []dedup.Finding {
	for _, least := range []time.Duration{finding.BlockSpan, max(finding.BlockSpan, m.MaxProcessing)} {
		h := m.head(least)
		if last := len(m.Frames) - 1; m.Down != nil && h.Span > 0 && !m.Frames[last].Began.Add(-h.Span).Before(m.Down.From) {
			h.Outage = m.Down.Words()
		}
		if found := finding.HeadBlocked(h); found != nil {
			return found
		}
	}
	return nil
}

// head looks back over the newest readings.
func (m Messages) head(least time.Duration) finding.Head {
	h := finding.Head{Capacity: m.Capacity, MaxProcessing: m.MaxProcessing}
	frames := m.Frames
	if len(frames) == 0 || !m.Ready.Known() || !m.Unacked.Known() {
		return h
	}
	last := frames[len(frames)-1]
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Blind || f.Gaps != last.Gaps || f.Began.Before(m.From) {
			break
		}
		if past := last.Began.Sub(f.Began); past >= least {
			h.Span, h.Acks, h.Redeliveries = past, last.Acks-f.Acks, last.Redeliveries-f.Redeliveries
			h.Growth, h.Ready, h.Unacked = last.Depth-f.Depth, m.Ready.Value, m.Unacked.Value
			if n := last.Held.Count - f.Held.Count; n > 0 {
				h.Unacked = max(h.Unacked, (last.Held.Sum-f.Held.Sum)/n)
			}
			h.Held = m.suspects(last.Began, past)
			break
		}
	}
	return h
}
