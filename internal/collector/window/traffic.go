package window

import (
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
