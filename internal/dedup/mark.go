package dedup

import "time"

// EventMark is the kind of the event of a mark.
const EventMark = "mark"

// A Mark is what somebody, or their deployment, says happened at a time: a release, a change of configuration. It is drawn
// among the events of its pipeline, of every pipeline when it names none.
type Mark struct {
	At       time.Time
	Pipeline string
	Text     string
	By       string
	// Made is when it was posted.
	Made time.Time
}
