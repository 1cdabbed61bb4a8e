package preflight

import (
	"strings"

	"dedup-dashboard/internal/admin"
)

// Words returns what a class means, for people.
func (c Class) Words() string {
	return map[Class]string{
		ClassRuns:             "runs",
		ClassSkipped:          "skipped, work was done (safe to discard)",
		ClassSwallowed:        "swallowed, work was NOT done",
		ClassPerhapsSwallowed: "swallowed, work perhaps not done",
		ClassBlocks:           "blocks",
		ClassLastAttempt:      "runs, last attempt",
		ClassMayRunTwice:      "may run twice",
		ClassUnknown:          "unknown",
	}[c]
}

// Words returns what will happen to a message, for people: "blocks until 2026-11-21T03:12:00Z", a time that pages write in the zone of
// who reads.
func (p Prediction) Words() string {
	if p.Class != ClassBlocks {
		return p.Class.Words()
	}
	if p.Until.IsZero() {
		return "blocks until somebody clears its marker"
	}
	return "blocks until " + admin.Stamp(p.Until)
}

// Why returns the reasons of a prediction as one text.
func (p Prediction) Why() string { return strings.Join(p.Reasons, "; ") }
