package sample

import (
	"slices"
	"time"
)

// Unbounded is the most deliveries of whoever may hold any number.
const Unbounded = -1

// boundsKept is how many changes of a bound are remembered.
const boundsKept = 64

// A Bound is the most deliveries that a channel, or all of them, could hold from a time on: Unbounded, or 0 without consumers.
type Bound struct {
	At   time.Time
	Most int64
}

// Bounds are what bounded deliveries, in time order.
type Bounds []Bound

// Add notes what bounds them from a time on.
func (b *Bounds) Add(at time.Time, most int64) {
	if n := len(*b); n > 0 && (*b)[n-1].Most == most {
		return
	}
	*b = append(*b, Bound{at, most})
	if len(*b) > boundsKept {
		*b = slices.Delete(*b, 0, len(*b)-boundsKept)
	}
}

// Since returns the largest bound that held at any time since from; 0 when there was none or it is not known.
func (b Bounds) Since(from time.Time) int64 {
	var most int64
	for i, n := range b {
		if i+1 < len(b) && b[i+1].At.Before(from) {
			continue
		}
		if n.Most == Unbounded {
			return 0
		}
		most = max(most, n.Most)
	}
	return most
}
