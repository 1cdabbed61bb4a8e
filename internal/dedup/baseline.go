package dedup

import "time"

// A Baseline is the dead letters of a pipeline that somebody has acknowledged: only those beyond it count as new.
type Baseline struct {
	// Count is how many are acknowledged now. It falls with the depth of the dead-letter queues, so that later arrivals count.
	Count int64
	// Acknowledged is how many there were when it was made.
	Acknowledged int64
	By           string
	At           time.Time
	Reason       string
}
