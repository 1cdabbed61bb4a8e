package collector

import (
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
)

// An insertTape is what a store told of its inserts, in time order, newest last, of one epoch.
type insertTape struct {
	readings []dedup.InsertStats
	// why is the newest refusal; empty when inserts are counted.
	why string
	// told is whether the store ever said anything of inserts.
	told bool
}

// add takes a reading. One of another epoch begins the tape anew: nothing can be said about spans across two.
func (t *insertTape) add(s *dedup.InsertStats) {
	if s == nil {
		return
	}
	t.told, t.why = true, s.Why
	if s.Why != "" {
		t.readings = nil
		return
	}
	if n := len(t.readings); n > 0 {
		last := t.readings[n-1]
		if s.Epoch == last.Epoch && s.At.Equal(last.At) {
			return
		}
		if s.Epoch != last.Epoch || s.At.Before(last.At) {
			t.readings = nil
		}
	}
	t.readings = append(t.readings, *s)
	t.thin(s.At)
}

// thin drops what is too old, and of what is older than tapeFull all but one reading a minute. It works once in a while.
func (t *insertTape) thin(now time.Time) {
	if n := len(t.readings); n >= 64 && n%64 == 0 {
		t.readings = thinned(t.readings, now, func(s *dedup.InsertStats) time.Time { return s.At }, grain{tapeFull, tapeStep})
	}
}

// newest returns the last reading; it must only be called when there is one.
func (t *insertTape) newest() dedup.InsertStats { return t.readings[len(t.readings)-1] }

// at returns the latest reading that is not later than a time, else the oldest.
func (t *insertTape) at(moment time.Time) dedup.InsertStats {
	i := sort.Search(len(t.readings), func(i int) bool { return t.readings[i].At.After(moment) })
	return t.readings[max(i-1, 0)]
}

// since returns the first reading that is not before a time, else the newest. What came between an earlier one and the time
// may be hours of inserts, when the store was down.
func (t *insertTape) since(moment time.Time) dedup.InsertStats {
	i := sort.Search(len(t.readings), func(i int) bool { return !t.readings[i].At.Before(moment) })
	return t.readings[min(i, len(t.readings)-1)]
}
