package window

import (
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// A Traffic is what a broker told over time of one pipeline's messages. It belongs to the round.
type Traffic struct {
	Frames sample.Frames
	// Flows are its live counts, Joints those that were joined with what the store came to.
	Flows  sample.Live
	Joints sample.Joints
	// Own tells which closed channels of the broker were of others, Loss which of its counts were lost.
	Own  *sample.OwnClosures
	Loss *sample.LossMeter
	// Prefetches bound what one channel of the consumers held, Capacities what all of them did.
	Prefetches sample.Bounds
	Capacities sample.Bounds
}

// AutoAcked reports whether deliveries were acked when they were sent, as far as the readings reach back.
func (t *Traffic) AutoAcked() bool {
	f := t.Frames
	return len(f) > 0 && f[len(f)-1].AutoAcks > f[0].AutoAcks
}

// Redelivering reports whether messages were redelivered in the last minute.
func (t *Traffic) Redelivering(now time.Time) bool {
	frames := t.Frames
	if len(frames) == 0 || now.Sub(frames[len(frames)-1].Began) > time.Minute {
		return false
	}
	last, first := frames[len(frames)-1], frames[len(frames)-1]
	for i := len(frames) - 1; i >= 0 && last.Began.Sub(frames[i].Began) <= time.Minute && frames[i].Gaps == last.Gaps; i-- {
		first = frames[i]
	}
	return last.Redeliveries > first.Redeliveries
}
