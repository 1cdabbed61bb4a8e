// Package series keeps numbers over time in an embedded Prometheus TSDB behind a small API of its own.
package series

import (
	"errors"
	"time"

	"dedup-dashboard/internal/dedup"
)

// ErrStarting is returned while the history is still being opened after a start or after a disk error. It is of kind
// unavailable.
var ErrStarting error = &dedup.Error{Kind: dedup.Unavailable, Public: "History is still being opened"}

// ErrClosed is returned by every method after Close.
var ErrClosed = errors.New("history is closed")

// A Sample is one value of one series. Labels are identity only.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// A Value is the answer of an instant query for one series. At is the time of the sample for Last, and the time of the
// evaluation for Query.
type Value struct {
	Labels map[string]string
	At     time.Time
	Value  float64
}

// A Line is the answer of a range query for one series, in time order, with gaps left out.
type Line struct {
	Labels map[string]string
	Points []dedup.Point
}

// A Change is what one counter gained over a window.
type Change struct {
	Labels map[string]string
	Delta  float64
	// From and To are the times of the two samples that Delta is between. To - From is shorter than the window when
	// the counter was born in it or the history has a gap at its start. From equals To when there is one sample only:
	// then nothing is known of the window yet.
	From time.Time
	To   time.Time
}

// Status says how the history is.
type Status struct {
	// Open is whether it can be read.
	Open bool
	// Err says why it cannot be read or is not being written; nil when all is well.
	Err error
	// Opening is how long the last opening took, with the replay after a crash.
	Opening time.Duration
	// Quarantined names the directories that unreadable parts were moved to in this run.
	Quarantined []string
	// Series counts the series in memory, Bytes is the size on disk; both are zero while it is not open.
	Series uint64
	Bytes  int64
}
