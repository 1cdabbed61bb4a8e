package sample

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
)

// The ages at which joint readings thin out: each second for 20 minutes, then one in jointFine for two hours, one a minute for a day.
const (
	jointNew  = 20 * time.Minute
	jointFine = 5 * time.Second
)

// LiveStale is the age from which on the newest joint reading says nothing of the present.
const LiveStale = 30 * time.Second

// Joints are the joint readings of one pipeline, in time order.
type Joints struct {
	Readings []estimate.Joint
	added    int
	// turns counts how often the clock was set back: what was counted before is not compared with what was counted since.
	turns int
}

// Add takes what was joined since the last time. Readings of a time that comes again are dropped.
func (t *Joints) Add(fresh []estimate.Joint, now time.Time) {
	for _, r := range fresh {
		if n := len(t.Readings); n > 0 && !r.At.After(t.Readings[n-1].At) {
			t.Readings = t.Readings[:sort.Search(n, func(i int) bool { return !t.Readings[i].At.Before(r.At) })]
			t.turns++
		}
		r.Run += t.turns
		t.Readings = append(t.Readings, r)
	}
	if t.added += len(fresh); t.added >= 64 {
		t.added = 0
		t.Readings = Thin(t.Readings, now, func(j *estimate.Joint) time.Time { return j.At }, OlderThan(EachFor, OldStep), OlderThan(jointNew, jointFine))
	}
}

// ClosedSince counts the channels that were closed since a time, from the reading before it on.
func (t *Joints) ClosedSince(since time.Time) float64 {
	n := len(t.Readings)
	if n == 0 {
		return 0
	}
	i := sort.Search(n, func(i int) bool { return t.Readings[i].At.After(since) })
	return max(0, t.Readings[n-1].Closed+t.Readings[n-1].MayBeClosed-t.Readings[max(0, i-1)].Closed)
}

// Quiet reports whether nothing was delivered, nor acked, in a time, as far as readings tell that are not far from its ends.
func (t *Joints) Quiet(from, to time.Time) bool {
	i := sort.Search(len(t.Readings), func(i int) bool { return t.Readings[i].At.After(from) }) - 1
	k := sort.Search(len(t.Readings), func(i int) bool { return !t.Readings[i].At.Before(to) })
	if i < 0 || k == len(t.Readings) || from.Sub(t.Readings[i].At) > LiveStale || t.Readings[k].At.Sub(to) > LiveStale {
		return false
	}
	a, b := &t.Readings[i], &t.Readings[k]
	return a.Run == b.Run && a.Delivered == b.Delivered && a.Acked == b.Acked
}

// After is the first joint reading that is later than a time.
func (t *Joints) After(at time.Time) int {
	return sort.Search(len(t.Readings), func(i int) bool { return t.Readings[i].At.After(at) })
}
