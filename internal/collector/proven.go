package collector

import (
	"slices"

	"dedup-dashboard/internal/dedup"
)

// measuredWidest is the width up to which an interval of a proven source counts as measured: 0.2 points.
const measuredWidest = 0.002

// proven reports whether a source of the duplicate rate was proved against a ground truth for a scheme; `make truth` proves
// it again. An interval of a source that was not is derived, however narrow it is.
func proven(m dedup.Method, s dedup.Scheme) bool {
	// The id gap has rules of its own for OnInFlight and OnFail, and a table of its own.
	presets := map[dedup.Method][]string{
		dedup.MethodStoreEvents: {"redis-json-status", "redis-text-status"},
	}
	// A preset with other rules is another scheme.
	asProved := s.Mark == "before" && s.OnInFlight == "nack" && s.OnFail == "delete"
	return asProved && slices.Contains(presets[m], s.Preset)
}
