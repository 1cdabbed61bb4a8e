package deadletter

import "time"

// purgeAfter is how long a dead-letter queue may lack messages that nobody settled before they count as purged.
const purgeAfter = 30 * time.Second

// An inflow counts the messages that arrived in one dead-letter queue. Dead-lettering is no publish: nothing counts it,
// so it is derived: change of depth + acks + automatic deliveries. Depth and counters are of different instants, so a
// dip is not an arrival when it is made up for, and a rise counts only once it stands.
type inflow struct {
	seen bool
	// level is messages + settled at the reading before, settled its second part; peak the highest level that counted.
	level, settled, peak float64
	dipped               time.Time
}

// observe takes a reading: the depth, and our cumulative count of messages that consumers settled. It returns the
// messages that arrived.
func (f *inflow) observe(messages int64, settled float64, at time.Time) float64 {
	level := float64(messages) + settled
	was := *f
	f.seen, f.level, f.settled = true, level, settled
	if !was.seen {
		f.peak = level
		return 0
	}
	if settled != was.settled {
		// The ack was counted, the depth may not have followed yet, or the other way round.
		level = min(level, was.level)
	}
	if level >= f.peak {
		arrived := level - f.peak
		f.peak, f.dipped = level, time.Time{}
		return arrived
	}
	switch {
	case f.dipped.IsZero():
		f.dipped = at
	case at.Sub(f.dipped) >= purgeAfter:
		f.peak, f.dipped = level, time.Time{}
	}
	return 0
}

// lose forgets the queue: it was deleted, or its depth is not known any more.
func (f *inflow) lose() { *f = inflow{} }
