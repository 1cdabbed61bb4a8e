package markers

import (
	"container/heap"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// oldest keeps the oldest markers of those that it is offered, at most dedup.MaxListed. It is a heap with the youngest
// on top, so that a marker that is too young is refused by one comparison, and any other costs a few.
type oldest []dedup.Marker

// takes reports whether a marker with these times would be kept.
func (o oldest) takes(expires, since time.Time) bool {
	return len(o) < dedup.MaxListed || older(expires, since, &o[0]) < 0
}

// add keeps m, and drops the youngest where there are too many. It must be asked of takes first.
func (o *oldest) add(m dedup.Marker) {
	if len(*o) < dedup.MaxListed {
		*o = append(*o, m)
		heap.Fix(o, len(*o)-1)
		return
	}
	(*o)[0] = m
	heap.Fix(o, 0)
}

// sorted returns the markers in the order of older. The heap is spent.
func (o oldest) sorted() []dedup.Marker {
	byAge(o)
	return o
}

func byAge(list []dedup.Marker) {
	slices.SortFunc(list, func(a, b dedup.Marker) int { return older(a.Expires, a.Since, &b) })
}

// older compares a marker with these times to m: those that never expire come first, then those that are known to be
// oldest, then those of an unknown age.
func older(expires, since time.Time, m *dedup.Marker) int {
	if a, b := expires.IsZero(), m.Expires.IsZero(); a != b {
		return before(a)
	}
	if a, b := since.IsZero(), m.Since.IsZero(); a != b {
		return before(b)
	}
	return since.Compare(m.Since)
}

func before(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// Len, Less, Swap, Push and Pop make a heap.Interface; Fix needs the first three.
func (o oldest) Len() int           { return len(o) }
func (o oldest) Less(i, j int) bool { return older(o[i].Expires, o[i].Since, &o[j]) > 0 }
func (o oldest) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *oldest) Push(any)          {}
func (o *oldest) Pop() any          { return nil }
