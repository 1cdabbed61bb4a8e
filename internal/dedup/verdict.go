package dedup

import "time"

// Verdict says what a processing marker's owner is doing, as far as the evidence goes.
type Verdict string

// The verdicts on a processing marker.
const (
	StillWorking Verdict = "still working"
	ProbablyDead Verdict = "probably dead"
	Orphan       Verdict = "orphan"
	CannotTell   Verdict = "cannot tell"
)

// Verdicts returns every verdict in the order in which pages show them.
func Verdicts() []Verdict { return []Verdict{ProbablyDead, Orphan, CannotTell, StillWorking} }

// Evidence is what the broker says of all pipelines of one store, for the verdict on its markers. Times are by our clock.
type Evidence struct {
	At time.Time
	// Missing says why there is no evidence: the broker does not answer; empty when there is.
	Missing string
	// MaxProcessing is the longest time that honest work takes, the largest of the pipelines; WorkP99 the measured 99th
	// percentile of the work time, 0 when unknown.
	MaxProcessing time.Duration
	WorkP99       time.Duration
	// AutoAck is true when deliveries are not acked by hand: then no unacked message proves nothing.
	AutoAck bool
	// Consumers, Ready and Unacked are sums over the source queues; nil when not known.
	Consumers *int64
	Ready     *int64
	Unacked   *int64
	// NothingOut holds the two newest moments at which no delivery was out in any source queue, newest first; Empty the
	// two newest at which the source queues held no message at all. Each is the earliest time that the reading can speak
	// of, so that a marker born before it was there.
	NothingOut [2]time.Time
	Empty      [2]time.Time
	// Closed is the newest moment before which, and at the earliest at ClosedSince, a channel of the broker was closed.
	Closed      time.Time
	ClosedSince time.Time
	// NoConsumersSince is since when the source queues have had no consumer; zero when they have some or it is not known.
	NoConsumersSince time.Time
	// DeadLetters is the depth of the dead-letter queues; nil when not known, as when there are none.
	DeadLetters *int64
	// ClockOffset is the store's clock minus ours.
	ClockOffset time.Duration
}
