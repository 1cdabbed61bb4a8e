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
	// Exports are what the framework of the consumers counts instead; nil for consumers that count outcomes.
	Exports *Exports
	// Bad names latency fields that are not whole numbers, or missing beside their buckets; their distribution is left out.
	Bad []string
}

// LatencyCounts is a latency distribution: Buckets[i] counts observations in the bucket whose upper bound is
// LatencyBounds()[i], not cumulated; Sum is in microseconds.
type LatencyCounts struct {
	Buckets []int64
	Sum     int64
}

// Exports are what the consumers' framework publishes of its work, as one reading adds it up. Counts only rise.
type Exports struct {
	// Recipe is the name of what says which series count, Framework what people call it.
	Recipe, Framework string
	// Handled are the deliveries whose handler ended well, Failed the others, which may have been acked or not. Unsure is how many more
	// there may be: what processes handled between their last reading and their end.
	Handled, Failed, Unsure float64
	// Duplicates are those of Handled whose work had been done before, where the framework tells.
	Duplicates    float64
	HasDuplicates bool
	// Ack and Work are distributions; nil where there is none.
	Ack, Work *Distribution
	// Marks are when each process was read.
	Marks []ExportMark
	// Instances are the processes, Series how many series of one count, Queues the names of queues that series show.
	Instances, Series int
	Queues            []string
	// Why says why nothing counts; empty when something does.
	Why string
}

// An ExportMark is when the counters of one process were as they are, and its share in what is handled.
type ExportMark struct {
	At     time.Time
	Weight float64
}

// A Distribution is one with whatever buckets it was published with: Counts[i] counts what took at most Bounds[i] seconds, cumulated. Both
// are empty where only the sum and the count are known.
type Distribution struct {
	Bounds, Counts []float64
	Sum, Count     float64
}
