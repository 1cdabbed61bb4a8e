package sample

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// An EventSpan is what the events of a store told between two readings of one epoch, at most a window apart.
type EventSpan struct {
	From, To EventReading
	Window   time.Duration
}

// SpanOf returns the newest span of at most a window, and false when there is none.
func SpanOf(readings []EventReading, window time.Duration) (EventSpan, bool) {
	n := len(readings)
	if n < 2 {
		return EventSpan{}, false
	}
	s := EventSpan{From: readings[0], To: readings[n-1], Window: window}
	start := s.To.At.Add(-window)
	for i := n - 2; i >= 0 && !readings[i].At.Before(start); i-- {
		s.From = readings[i]
	}
	return s, s.From.At.Before(s.To.At)
}

// Figure returns a figure of the span.
func (s EventSpan) Figure(q dedup.Quality, u dedup.Unit, v, n float64, source, formula string) dedup.Figure {
	f := dedup.Exact(q, u, v, s.To.At, source)
	f.Window, f.Covered, f.N, f.Formula = s.Window, s.To.At.Sub(s.From.At), n, formula
	return f
}
