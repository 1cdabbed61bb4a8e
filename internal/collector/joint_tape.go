package collector

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
)

// The ages at which joint readings thin out: each second for 20 minutes, then one in jointFine for two hours, one a minute for a day.
const (
	jointNew  = 20 * time.Minute
	jointFine = 5 * time.Second
)

// liveStale is the age from which on the newest joint reading says nothing of the present.
const liveStale = 30 * time.Second

// A jointTape is the joint readings of one pipeline, in time order. It belongs to the round.
type jointTape struct {
	readings []estimate.Joint
	added    int
	// turns counts how often the clock was set back: what was counted before is not compared with what was counted since.
	turns int
}

// add takes what was joined since the last time. Readings of a time that comes again are dropped.
func (t *jointTape) add(fresh []estimate.Joint, now time.Time) {
	for _, r := range fresh {
		if n := len(t.readings); n > 0 && !r.At.After(t.readings[n-1].At) {
			t.readings = t.readings[:sort.Search(n, func(i int) bool { return !t.readings[i].At.Before(r.At) })]
			t.turns++
		}
		r.Run += t.turns
		t.readings = append(t.readings, r)
	}
	if t.added += len(fresh); t.added >= 64 {
		t.added = 0
		t.readings = sample.Thin(t.readings, now, func(j *estimate.Joint) time.Time { return j.At }, sample.OlderThan(sample.EachFor, sample.OldStep), sample.OlderThan(jointNew, jointFine))
	}
}

// closedSince counts the channels that were closed since a time, from the reading before it on.
func (t *jointTape) closedSince(since time.Time) float64 {
	n := len(t.readings)
	if n == 0 {
		return 0
	}
	i := sort.Search(n, func(i int) bool { return t.readings[i].At.After(since) })
	return max(0, t.readings[n-1].Closed+t.readings[n-1].MayBeClosed-t.readings[max(0, i-1)].Closed)
}

// quiet reports whether nothing was delivered, nor acked, in a time, as far as readings tell that are not far from its ends.
func (t *jointTape) quiet(from, to time.Time) bool {
	i := sort.Search(len(t.readings), func(i int) bool { return t.readings[i].At.After(from) }) - 1
	k := sort.Search(len(t.readings), func(i int) bool { return !t.readings[i].At.Before(to) })
	if i < 0 || k == len(t.readings) || from.Sub(t.readings[i].At) > liveStale || t.readings[k].At.Sub(to) > liveStale {
		return false
	}
	a, b := &t.readings[i], &t.readings[k]
	return a.Run == b.Run && a.Delivered == b.Delivered && a.Acked == b.Acked
}

// after is the first joint reading that is later than a time.
func (t *jointTape) after(at time.Time) int {
	return sort.Search(len(t.readings), func(i int) bool { return t.readings[i].At.After(at) })
}
