package rate

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// GainBetween bounds what the broker did between two times by the counters of the management API, from which channels that were closed
// take an unknown part along.
func GainBetween(frames sample.Frames, own *sample.OwnClosures, from, to time.Time) (sample.Gain, bool) {
	a, okA := CutBetween(frames, from, from)
	b, okB := CutBetween(frames, to, to)
	if !okA || !okB || a.Before.Gaps != b.After.Gaps || a.Before.AutoAcks != b.After.AutoAcks {
		return sample.Gain{}, false
	}
	g := sample.Gain{Acked: [2]float64{max(0, b.AcksLow-a.AcksHigh), b.AcksHigh - a.AcksLow},
		Delivered:   [2]float64{max(0, b.Before.Deliveries-a.After.Deliveries), b.After.Deliveries - a.Before.Deliveries},
		Redelivered: b.After.Redeliveries - a.Before.Redeliveries, Fetched: b.After.Gets - a.Before.Gets}
	closed, known := own.Most(a.Before, b.After)
	if !known {
		closed = math.Inf(1)
	}
	if g.Closed = closed; closed > 0 {
		g.Acked[1], g.Delivered[1], g.Redelivered = math.Inf(1), math.Inf(1), math.Inf(1)
	}
	return g, true
}

// TakenBetween counts the dead letters that were taken out between two times and UndoneReach before: 0 where the broker was not read, +Inf where counts of them were
// missed.
func TakenBetween(frames sample.Frames, from, to time.Time) float64 {
	last, ok := frames.Counted(to)
	if !ok && len(frames) > 0 {
		last, ok = &frames[len(frames)-1], true
	}
	if !ok {
		return 0
	}
	first, ok := frames.Before(from.Add(-UndoneReach))
	if !ok {
		first = &frames[0]
	}
	if first.DeadGaps != last.DeadGaps {
		return math.Inf(1)
	}
	return max(0, last.DeadSettled-first.DeadSettled)
}
