package sample

import "time"

// An Increase is what one of our counters gained over a window.
type Increase struct {
	Delta   float64
	Covered time.Duration
	At      time.Time
	// Known is false when the history has nothing of the counter in the window.
	Known bool
}
