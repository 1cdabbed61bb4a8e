package dedup

import (
	"math"
	"time"
)

// ReportedOutcomes returns the outcome fields of the hash dedupstats:{pipeline}, in the order of docs/consumers.md.
func ReportedOutcomes() []string {
	return []string{"processed", "duplicate_done", "duplicate_in_flight", "failed", "illegal_state", "out_of_order", "conflict", "lock_failed"}
}

// LatencyBounds returns the fixed upper bounds, in seconds, of the reported latency buckets; the last is +Inf.
func LatencyBounds() []float64 {
	return []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, math.Inf(1)}
}

// Reported are the counters that consumers report, as one hash holds them. The counts are cumulative since the hash
// was born; deleting the hash restarts them.
type Reported struct {
	At time.Time
	// Present is false when the hash does not exist: nobody has reported yet.
	Present bool
	// Outcomes holds the outcome fields that exist.
	Outcomes map[string]int64
	// Ack and Work are the latency distributions; a nil Buckets means that none was reported, or that it cannot be read.
	Ack  LatencyCounts
	Work LatencyCounts
	// Bad names latency fields that are not whole numbers, or missing beside their buckets; their distribution is left out.
	Bad []string
}

// LatencyCounts is a latency distribution: Buckets[i] counts observations in the bucket whose upper bound is
// LatencyBounds()[i], not cumulated; Sum is in microseconds.
type LatencyCounts struct {
	Buckets []int64
	Sum     int64
}
