package pace

import (
	"container/heap"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Oldest keeps the oldest markers of those that it is offered, at most dedup.MaxListed. It is a heap with the youngest
// on top, so that a marker that is too young is refused by one comparison, and any other costs a few.
type Oldest []dedup.Marker

// Takes reports whether a marker with these times would be kept.
func (a Oldest) Takes(expires, since time.Time) bool {
	return len(a) < dedup.MaxListed || older(expires, since, &a[0]) < 0
}

// Add keeps m, and drops the youngest where there are too many. It must be asked of takes first.
func (a *Oldest) Add(m dedup.Marker) {
	if len(*a) < dedup.MaxListed {
		*a = append(*a, m)
		heap.Fix(a, len(*a)-1)
		return
	}
	(*a)[0] = m
	heap.Fix(a, 0)
}

// Sorted returns the markers in the order of older. The heap is spent.
func (a Oldest) Sorted() []dedup.Marker {
	ByAge(a)
	return a
}

// ByAge sorts markers: those that never expire, then the oldest, then those of an unknown age.
func ByAge(list []dedup.Marker) {
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
func (a Oldest) Len() int           { return len(a) }
func (a Oldest) Less(i, j int) bool { return older(a[i].Expires, a[i].Since, &a[j]) > 0 }
func (a Oldest) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *Oldest) Push(any)          {}
func (a *Oldest) Pop() any          { return nil }
