package sample

import (
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Inserts are what a store told of its inserts, in time order, newest last, of one epoch.
type Inserts struct {
	Readings []dedup.InsertStats
	// Why is the newest refusal; empty when inserts are counted.
	Why string
	// Told is whether the store ever said anything of inserts.
	Told bool
}

// Add takes a reading. One of another epoch begins them anew: nothing can be said about spans across two.
func (t *Inserts) Add(s *dedup.InsertStats) {
	if s == nil {
		return
	}
	t.Told, t.Why = true, s.Why
	if s.Why != "" {
		t.Readings = nil
		return
	}
	if n := len(t.Readings); n > 0 {
		last := t.Readings[n-1]
		if s.Epoch == last.Epoch && s.At.Equal(last.At) {
			return
		}
		if s.Epoch != last.Epoch || s.At.Before(last.At) {
			t.Readings = nil
		}
	}
	t.Readings = append(t.Readings, *s)
	t.thin(s.At)
}

// thin drops what is too old, and of what is older than EachFor all but one reading a minute. It works once in a while.
func (t *Inserts) thin(now time.Time) {
	if n := len(t.Readings); n >= 64 && n%64 == 0 {
		t.Readings = Thin(t.Readings, now, func(s *dedup.InsertStats) time.Time { return s.At }, OlderThan(EachFor, OldStep))
	}
}

// Newest returns the last reading; it must only be called when there is one.
func (t *Inserts) Newest() dedup.InsertStats { return t.Readings[len(t.Readings)-1] }

// At returns the latest reading that is not later than a time, else the oldest.
func (t *Inserts) At(moment time.Time) dedup.InsertStats {
	i := sort.Search(len(t.Readings), func(i int) bool { return t.Readings[i].At.After(moment) })
	return t.Readings[max(i-1, 0)]
}

// Since returns the first reading that is not before a time, else the newest. What came between an earlier one and the time
// may be hours of inserts, when the store was down.
func (t *Inserts) Since(moment time.Time) dedup.InsertStats {
	i := sort.Search(len(t.Readings), func(i int) bool { return !t.Readings[i].At.Before(moment) })
	return t.Readings[min(i, len(t.Readings)-1)]
}
