package dedup

import "time"

// A Finding is a hazard seen in a store, queue or scheme, with its evidence and a remedy.
type Finding struct {
	// Kind is a stable word for machines: dead_letter_exchange_missing, queue_hidden, marker_without_expiry, ...
	Kind     string
	Tier     Tier
	Text     string
	Evidence string
	Remedy   string
	// Drops says that dead letters of the pipeline are dropped by how it is built, which nothing counts by queue.
	Drops bool
}

// A Harm says what a finding does to messages, the worst first: of two findings of one tier the more harmful one is told
// first.
type Harm uint8

// The harms, the worst first.
const (
	// HarmLost: messages are or will be lost, or their work was done twice.
	HarmLost Harm = iota
	// HarmBlocked: messages do not get on.
	HarmBlocked
	// HarmStuck: markers hold messages back, or nobody can tell whether they do.
	HarmStuck
	// HarmHazard: it may do harm later.
	HarmHazard
)

// Harm returns what the finding does to messages, by its kind. A kind that it does not know is a hazard.
func (f Finding) Harm() Harm {
	switch f.Kind {
	case "messages_given_up", "failed_and_acked", "dead_letter_exchange_missing", "dead_letter_route_missing",
		"dead_letter_key_alone", "dead_letters_discarded", "dead_letter_cycle_cut", "dead_letter_stream", "dead_letter_queue_drops", "delivery_limit_discards", "double_effects":
		return HarmLost
	case "head_blocked", "no_consumers", "looping", "backlog_growing", "queue_missing":
		return HarmBlocked
	case "stuck_markers", "marker_without_expiry", "markers_undecodable", "markers_without_id", "marker_row_held":
		return HarmStuck
	}
	return HarmHazard
}

// An Event is something that happened at one time, drawn under the charts.
type Event struct {
	At   time.Time
	Kind string // consumer_restart, consumers_changed, channels_closed, broker_restart, store_restart, source_down, source_up, alarm, counter_reset, double_effect
	Text string
	// Count is how many happenings of its kind the event tells of; 0 means that it is one. Of a job it is how many messages it sent, 0
	// where that is not known.
	Count int64
}

// Happenings is how many happenings the event tells of: at least one. A job is one, whatever it sent.
func (e Event) Happenings() int64 {
	if e.Kind == "job" {
		return 1
	}
	return max(1, e.Count)
}

// A Point is one value of a series; a NaN Value is a gap.
type Point struct {
	At    time.Time
	Value float64
}
