package markers

import (
	"container/heap"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// aged keeps the oldest markers of those that it is offered, at most dedup.MaxListed. It is a heap with the youngest
// on top, so that a marker that is too young is refused by one comparison, and any other costs a few.
type aged []dedup.Marker

// takes reports whether a marker with these times would be kept.
func (a aged) takes(expires, since time.Time) bool {
	return len(a) < dedup.MaxListed || older(expires, since, &a[0]) < 0
}

// add keeps m, and drops the youngest where there are too many. It must be asked of takes first.
func (a *aged) add(m dedup.Marker) {
	if len(*a) < dedup.MaxListed {
		*a = append(*a, m)
		heap.Fix(a, len(*a)-1)
		return
	}
	(*a)[0] = m
	heap.Fix(a, 0)
}

// sorted returns the markers in the order of older. The heap is spent.
func (a aged) sorted() []dedup.Marker {
	byAge(a)
	return a
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
func (a aged) Len() int           { return len(a) }
func (a aged) Less(i, j int) bool { return older(a[i].Expires, a[i].Since, &a[j]) > 0 }
func (a aged) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *aged) Push(any)          {}
func (a *aged) Pop() any          { return nil }
