package collector

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// A storeSpan is what the events of a store told between two readings of one epoch, at most a window apart.
type storeSpan struct {
	From, To storeReading
	Window   time.Duration
}

// spanOf returns the newest span of at most a window, and false when there is none.
func spanOf(readings []storeReading, window time.Duration) (storeSpan, bool) {
	n := len(readings)
	if n < 2 {
		return storeSpan{}, false
	}
	s := storeSpan{From: readings[0], To: readings[n-1], Window: window}
	start := s.To.At.Add(-window)
	for i := n - 2; i >= 0 && !readings[i].At.Before(start); i-- {
		s.From = readings[i]
	}
	return s, s.From.At.Before(s.To.At)
}

// figure returns a figure of the span.
func (s storeSpan) figure(q dedup.Quality, u dedup.Unit, v, n float64, source, formula string) dedup.Figure {
	f := dedup.Exact(q, u, v, s.To.At, source)
	f.Window, f.Covered, f.N, f.Formula = s.Window, min(s.To.At.Sub(s.From.At), s.Window), n, formula
	return f
}
