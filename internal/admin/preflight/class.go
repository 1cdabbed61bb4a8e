// Package preflight predicts what consumers do with messages that are requeued, by what the stores hold of them.
package preflight

import "time"

// A Class is what a requeue will do to a message, under the rules of its pipeline's scheme.
type Class string

// The classes of a preflight.
const (
	// ClassRuns: the consumer will do the work.
	ClassRuns Class = "runs"
	// ClassSkipped: the consumer will ack without work, and the work was done. The message is safe to discard.
	ClassSkipped Class = "skipped"
	// ClassSwallowed: the consumer will ack without work, and the work was not done. The message would be lost.
	ClassSwallowed Class = "swallowed"
	// ClassPerhapsSwallowed: the consumer will ack without work, and whether the work was done cannot be told: the marker has no state.
	ClassPerhapsSwallowed Class = "swallowed_perhaps"
	// ClassBlocks: the consumer will return the message until its marker ends.
	ClassBlocks Class = "blocks"
	// ClassLastAttempt: the consumer will do the work, and give the message up if it fails once more.
	ClassLastAttempt Class = "last_attempt"
	// ClassMayRunTwice: the work may have been done before, and nothing will stop it from being done again.
	ClassMayRunTwice Class = "may_run_twice"
	// ClassUnknown: the store could not be asked, holds what cannot be decoded, or another message with the same id goes first,
	// or it goes to a pipeline with other rules.
	ClassUnknown Class = "unknown"
)

// Classes returns every class in the order in which pages show them.
func Classes() []Class {
	return []Class{ClassRuns, ClassLastAttempt, ClassMayRunTwice, ClassSkipped, ClassPerhapsSwallowed, ClassSwallowed, ClassBlocks, ClassUnknown}
}

// A Prediction is the class of one message with its reasons.
type Prediction struct {
	Class Class
	// Until is when a message that blocks will run, zero when that cannot be known.
	Until time.Time
	// Reasons are the evidence, in words.
	Reasons []string
	// ClearFirst is true where clearing the marker first lets the message run. ClearDone is true where that marker says that the
	// work was done: it may be cleared for one message alone, by an admin who types its id.
	ClearFirst bool
	ClearDone  bool
	// MayRepeat is true where clearing the marker first may have the work done a second time: the marker does not tell whether it was.
	MayRepeat bool
}

// A Choice is what a requeue does with the messages of a class.
type Choice string

// The choices. Clearing comes before publishing: a crash in between leaves the message where it was.
const (
	KeepAsIs   Choice = "keep"
	ClearFirst Choice = "clear_first"
	LeaveOut   Choice = "leave_out"
)

// A Tally counts messages by class.
type Tally map[Class]int
