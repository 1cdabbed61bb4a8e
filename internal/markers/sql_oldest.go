package markers

import (
	"container/heap"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// oldest keeps the markers that are longest in their state, those of unknown age first, in bounded memory.
type oldest struct{ youngestFirst markerHeap }

// wants says whether a marker of this time would be kept.
func (o *oldest) wants(since time.Time) bool {
	return len(o.youngestFirst) < dedup.MaxListed || since.Before(o.youngestFirst[0].Since)
}

func (o *oldest) add(m dedup.Marker) {
	heap.Push(&o.youngestFirst, m)
	if len(o.youngestFirst) > dedup.MaxListed {
		heap.Pop(&o.youngestFirst)
	}
}

// list returns the markers, the oldest first.
func (o *oldest) list() []dedup.Marker {
	all := slices.Clone(o.youngestFirst)
	slices.SortStableFunc(all, func(a, b dedup.Marker) int { return a.Since.Compare(b.Since) })
	return all
}

// markerHeap has the marker that began last on top.
type markerHeap []dedup.Marker

func (h markerHeap) Len() int           { return len(h) }
func (h markerHeap) Less(i, j int) bool { return h[i].Since.After(h[j].Since) }
func (h markerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *markerHeap) Push(m any)        { *h = append(*h, m.(dedup.Marker)) }

func (h *markerHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = dedup.Marker{}
	*h = (*h)[:len(*h)-1]
	return last
}
