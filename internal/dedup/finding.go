package dedup

import "time"

// A Finding is a hazard seen in a store, queue or scheme, with its evidence and a mend.
type Finding struct {
	// Kind is a stable word for machines: dead_letter_exchange_missing, queue_hidden, marker_without_expiry, ...
	Kind     string
	Tier     Tier
	Text     string
	Evidence string
	Mend     string
}

// An Event is something that happened at one time, drawn under the charts.
type Event struct {
	At   time.Time
	Kind string // consumer_restart, channels_closed, broker_restart, store_restart, source_down, source_up, alarm, counter_reset
	Text string
}

// A Point is one value of a series; a NaN Value is a gap.
type Point struct {
	At    time.Time
	Value float64
}
