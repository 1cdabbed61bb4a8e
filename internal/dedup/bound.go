package dedup

import (
	"cmp"
	"slices"
	"time"
)

// An OutReading is how many deliveries were out in all source queues of a store in one reading, and the earliest time that it can speak
// of: a delivery that was out from before At until the reading had ended is among them.
type OutReading struct {
	At      time.Time
	Unacked int64
}

// A Bound is what the number of deliveries tells of markers none of which can be told from the others: each living owner holds one.
// The zero value tells nothing.
type Bound struct {
	// Of are the markers, Gone how many of them at least belong to nobody.
	Of, Gone int64
	// Out is the most deliveries that were out at both of two moments, the newer first.
	Out int64
	At  [2]time.Time
}

// BoundOf bounds how many of the overdue markers whose owners are not known belong to nobody, by readings that had all ended by the moment
// that is judged. As for one marker, two readings must agree.
func BoundOf(markers []Marker, readings []OutReading, e Evidence, s Scheme) Bound {
	var births []time.Time
	for _, m := range markers {
		if c := consider(m, e, s); c.hinder == mayBeOut || c.hinder == mayEnd {
			births = append(births, seenSince(m, e, s).Add(birthDoubt))
		}
	}
	slices.SortFunc(births, func(a, b time.Time) int { return b.Compare(a) })
	readings = slices.SortedFunc(slices.Values(readings), func(a, b OutReading) int { return b.At.Compare(a.At) })
	best := Bound{Of: int64(len(births))}
	var least []OutReading // the two lowest of those after the birth at hand
	for i, birth := range births {
		for len(readings) > 0 && readings[0].At.After(birth) {
			least = append(least, readings[0])
			slices.SortStableFunc(least, func(a, b OutReading) int { return cmp.Compare(a.Unacked, b.Unacked) })
			least, readings = least[:min(len(least), 2)], readings[1:]
		}
		if len(least) < 2 {
			continue
		}
		if gone := int64(len(births)-i) - least[1].Unacked; gone > best.Gone {
			best.Gone, best.Out, best.At = gone, least[1].Unacked, [2]time.Time{latest(least[0].At, least[1].At), least[0].At}
			if best.At[0].Equal(best.At[1]) {
				best.At[1] = least[1].At
			}
		}
	}
	return best
}
