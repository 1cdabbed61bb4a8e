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

// Around returns the newest reading before a time, but none from before begun, and the oldest that was asked for after another; not ok where there is
// none.
func (t *Statements) Around(from, to, begun time.Time) (first, last *dedup.StatementStats, ok bool) {
	since := func(at time.Time) int {
		return FirstSince(len(t.Readings), func(i int) time.Time { return t.Readings[i].At }, at)
	}
	i := max(since(from)-1, since(begun))
	j := FirstSince(len(t.Readings), func(i int) time.Time { return t.Readings[i].At.Add(-t.Readings[i].Took) }, to)
	if j == len(t.Readings) || j <= i {
		return nil, nil, false
	}
	return &t.Readings[i], &t.Readings[j], true
}

// FirstSince returns the first reading that is not before a time, of n.
func FirstSince(n int, at func(int) time.Time, from time.Time) int {
	return sort.Search(n, func(i int) bool { return !at(i).Before(from) })
}
