package admin

import (
	"strings"
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

// Words returns what will happen to a message, for people: "blocks until 03:12 UTC". The time is given with its date where that
// differs from the day of the message's expected consumption.
func (p Prediction) Words() string {
	if p.Class != ClassBlocks {
		return p.Class.Words()
	}
	if p.Until.IsZero() {
		return "blocks until somebody clears its marker"
	}
	return "blocks until " + p.Until.UTC().Format("2006-01-02 15:04") + " UTC"
}

// Why returns the reasons of a prediction as one text.
func (p Prediction) Why() string { return strings.Join(p.Reasons, "; ") }
