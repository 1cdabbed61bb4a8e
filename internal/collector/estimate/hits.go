package estimate

import "math"

// Hits are bounds on how many deliveries of a time met a marker of their message, as the store itself counted it. No moment of the broker's
// needs to be known for them: acks only make the share.
type Hits struct {
	// Hits are the deliveries that met a marker, Undone those of them that are no duplicates: they met one of work that was not done, or were never
	// acked and came again.
	Hits, Undone [2]float64
	// Least are the fewest duplicates, as something else tells them.
	Least float64
	// Messages are the deliveries of the time that were acked.
	Messages [2]float64
}

// Duplicates are bounds of the hits on done work, and the likeliest number between them.
func (h Hits) Duplicates() (low, likely, high float64) {
	low, high = max(0, h.Least, h.Hits[0]-h.Undone[1]), max(0, h.Hits[1]-h.Undone[0])
	if high = min(high, h.Messages[1]); low > high {
		low = high
	}
	likely = (h.Hits[0]+h.Hits[1])/2 - h.Undone[0]
	return low, min(max(low, likely), high), high
}

// Rate are the same bounds as shares of the messages; not ok where there were none.
func (h Hits) Rate() (low, likely, high float64, ok bool) {
	least, mean := h.Messages[0], (h.Messages[0]+h.Messages[1])/2
	if h.Messages[1] <= 0 {
		return 0, 0, 0, false
	}
	l, m, u := h.Duplicates()
	low, high = l/h.Messages[1], 1
	if least > 0 {
		high = min(1, u/least)
	}
	if likely = m / mean; math.IsNaN(low + likely + high) {
		return 0, 0, 0, false
	}
	return low, min(max(low, likely), high), high, true
}

// Bounds are the ends of the rate; nil where there is none.
func (h Hits) Bounds() *[2]float64 {
	low, _, high, ok := h.Rate()
	if !ok {
		return nil
	}
	return &[2]float64{low, high}
}
