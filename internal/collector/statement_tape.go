package collector

import (
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A statementTape is what a database counted of the statements on the table of one store, in time order, of one epoch.
type statementTape struct {
	readings []dedup.StatementStats
	// why is the newest refusal and better what would help; empty when statements are counted. told is whether anything was ever said of them.
	why, better string
	told        bool
}

// add takes a reading. One of another epoch begins the tape anew: nothing can be said about spans across two.
func (t *statementTape) add(s *dedup.StatementStats) {
	if s == nil {
		return
	}
	t.told, t.why, t.better = true, s.Why, s.Better
	if s.Why != "" {
		t.readings = nil
		return
	}
	if n := len(t.readings); n > 0 {
		last := &t.readings[n-1]
		if s.Epoch == last.Epoch && s.At.Equal(last.At) {
			return
		}
		if s.Epoch != last.Epoch || s.At.Before(last.At) {
			t.readings = nil
		}
	}
	t.readings = append(t.readings, *s)
	if n := len(t.readings); n >= 64 && n%64 == 0 {
		t.readings = thinned(t.readings, s.At, func(s *dedup.StatementStats) time.Time { return s.At }, grain{tapeFull, tapeStep}, grain{storeTapeNew, storeTapeFine})
	}
}

// around returns the newest reading before a time, but none from before begun, and the oldest that was asked for after another; not ok where there is
// none.
func (t *statementTape) around(from, to, begun time.Time) (first, last *dedup.StatementStats, ok bool) {
	since := func(at time.Time) int {
		return newestWithin(len(t.readings), func(i int) time.Time { return t.readings[i].At }, at)
	}
	i := max(since(from)-1, since(begun))
	j := newestWithin(len(t.readings), func(i int) time.Time { return t.readings[i].At.Add(-t.readings[i].Took) }, to)
	if j == len(t.readings) || j <= i {
		return nil, nil, false
	}
	return &t.readings[i], &t.readings[j], true
}

// newestWithin returns the first reading that is not before a time, of n.
func newestWithin(n int, at func(int) time.Time, from time.Time) int {
	return sort.Search(n, func(i int) bool { return !at(i).Before(from) })
}
