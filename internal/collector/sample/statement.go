package sample

import (
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Statements are what a database counted of the statements on the table of one store, in time order, of one epoch.
type Statements struct {
	Readings []dedup.StatementStats
	// Why is the newest refusal and better what would help; empty when statements are counted. told is whether anything was ever said of them.
	Why, Better string
	Told        bool
}

// Add takes a reading. One of another epoch begins them anew: nothing can be said about spans across two.
func (t *Statements) Add(s *dedup.StatementStats) {
	if s == nil {
		return
	}
	t.Told, t.Why, t.Better = true, s.Why, s.Better
	if s.Why != "" {
		t.Readings = nil
		return
	}
	if n := len(t.Readings); n > 0 {
		last := &t.Readings[n-1]
		if s.Epoch == last.Epoch && s.At.Equal(last.At) {
			return
		}
		if s.Epoch != last.Epoch || s.At.Before(last.At) {
			t.Readings = nil
		}
	}
	t.Readings = append(t.Readings, *s)
	if n := len(t.Readings); n >= 64 && n%64 == 0 {
		t.Readings = Thin(t.Readings, s.At, func(s *dedup.StatementStats) time.Time { return s.At }, OlderThan(EachFor, OldStep), OlderThan(EventsFor, EventsStep))
	}
}

// FirstSince returns the first reading that is not before a time, of n.
func FirstSince(n int, at func(int) time.Time, from time.Time) int {
	return sort.Search(n, func(i int) bool { return !at(i).Before(from) })
}
