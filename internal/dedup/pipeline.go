package dedup

import (
	"slices"
	"time"
)

// Windows returns the spans over which figures are shown, shortest first.
func Windows() []time.Duration {
	return []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 24 * time.Hour}
}

// A Pipeline is what a user watches: source queues, their store, their dead-letter queues and limits.
type Pipeline struct {
	Name   string
	Broker string
	Vhost  string
	Queues []string
	// Store names the dedup store; empty for a scheme without markers.
	Store string
	// Lock names the store of the lock that consumers take before they look at their marker; empty where they take none.
	Lock string
	// DeadLetterQueues lists pinned dead-letter queues; DiscoverDeadLetters asks to find them from the topology.
	DeadLetterQueues    []string
	DiscoverDeadLetters bool
	// ReportedStore names the source of the counters that consumers report: the Redis store whose hash dedupstats:{pipeline} holds
	// them, or the endpoints at which they publish them. Empty where they report none.
	ReportedStore string
	// IDFrom says where a message's id comes from: message_id, header:NAME, json:PATH or md5(body). ParseIDSource reads it.
	IDFrom string
	// MaxProcessing is the longest time that processing takes.
	MaxProcessing time.Duration
	Labels        map[string]string
	Limits        Limits
}

// Limits are the tier limits of one pipeline. A ratio is 0..1, a latency is in seconds.
type Limits struct {
	// DuplicateWarning, DuplicateSevere and DuplicateEmergency are 1 %, 3 % and 10 % unless configured.
	DuplicateWarning   float64
	DuplicateSevere    float64
	DuplicateEmergency float64
	// LatencyWarning and LatencySevere are 100 ms and 500 ms unless configured. Latency has no emergency tier.
	LatencyWarning float64
	LatencySevere  float64
	// MinMessages and MinDuplicates guard against judging a handful of messages: 50 and 3 unless configured.
	MinMessages   float64
	MinDuplicates float64
	// Window is the span that is judged first: 15 m unless configured.
	Window time.Duration
}

// DefaultLimits returns the limits of a pipeline that sets none of its own.
func DefaultLimits() Limits {
	return Limits{
		DuplicateWarning: 0.01, DuplicateSevere: 0.03, DuplicateEmergency: 0.10,
		LatencyWarning: 0.100, LatencySevere: 0.500,
		MinMessages: 50, MinDuplicates: 3, Window: 15 * time.Minute,
	}
}

// Check calls say for each thing that is wrong with the limits: where, as the configuration names it, and how to fix it.
func (l Limits) Check(say func(field, why string)) {
	if !(l.DuplicateWarning > 0 && l.DuplicateWarning < l.DuplicateSevere && l.DuplicateSevere < l.DuplicateEmergency) {
		say("duplicate_rate", "limits must rise: warning below severe below emergency, all above 0%")
	}
	if !(l.LatencyWarning > 0 && l.LatencyWarning < l.LatencySevere) {
		say("ack_latency", "limits must rise: warning below severe, both above 0s")
	}
	if !(l.MinMessages >= 1 && l.MinDuplicates >= 0) {
		say("min_messages", "must be 1 or more, and min_duplicates 0 or more")
	}
	if !slices.Contains(Windows(), l.Window) {
		say("window", "must be one of 5m, 15m, 1h and 24h")
	}
}
