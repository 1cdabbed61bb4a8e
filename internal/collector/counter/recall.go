package counter

import (
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// recallSpan is how far back the rounds are remembered: the longest window that is computed each round.
const recallSpan = 15 * time.Minute

// A recall remembers what every tally was at the rounds of the last quarter of an hour, as the history holds it, so that
// the short windows of hundreds of pipelines need not be read from disk blocks each round.
type recall struct {
	rounds []recalled
}

// A recalled is one stored round: the totals by the index of their tally, NaN where nothing was stored.
type recalled struct {
	at     time.Time
	totals []float64
}

// record remembers a round that was stored; before is where the history holds the zero of a tally that was born with a
// value. A clock that was set back begins anew.
func (r *recall) record(before, at time.Time, b *Book, stored Batch) {
	if n := len(r.rounds); n > 0 && !at.After(r.rounds[n-1].at) {
		r.rounds = nil
	}
	totals := make([]float64, len(b.tallies))
	for i := range totals {
		totals[i] = math.NaN()
	}
	for key := range stored {
		t, ok := b.tallies[key]
		if !ok {
			continue
		}
		if !t.stored {
			t.stored, t.first, t.zero = true, at, at
			if t.Total > 0 {
				t.zero = before
			}
		}
		totals[t.index] = t.Total
	}
	r.rounds = append(r.rounds, recalled{at, totals})
	// The newest round that is at least recallSpan old stays: it is where the window begins.
	for len(r.rounds) > 1 && at.Sub(r.rounds[1].at) >= recallSpan {
		r.rounds = r.rounds[1:]
	}
}

// reaches reports whether the whole window is remembered.
func (r *recall) reaches(now time.Time, w time.Duration) bool {
	return w <= recallSpan && len(r.rounds) > 0 && now.Sub(r.rounds[0].at) >= w
}

// gains returns what every tally gained over the window, with the same result as the history's Changes: from the last
// value at or before its start, else from the first one in it.
func (r *recall) gains(now time.Time, w time.Duration, b *Book) map[string]sample.Increase {
	start := now.Add(-w)
	first := sort.Search(len(r.rounds), func(i int) bool { return r.rounds[i].at.After(start) }) - 1
	last := r.rounds[len(r.rounds)-1]
	out := make(map[string]sample.Increase, len(b.tallies))
	for key, t := range b.tallies {
		to := last.at
		if t.index >= len(last.totals) || math.IsNaN(last.totals[t.index]) {
			continue
		}
		if t.first.After(start) {
			out[key] = sample.Increase{Delta: last.totals[t.index], Covered: to.Sub(t.zero), At: to, Known: true}
			continue
		}
		for _, round := range r.rounds[max(0, first):] {
			if t.index < len(round.totals) && !math.IsNaN(round.totals[t.index]) {
				out[key] = sample.Increase{Delta: last.totals[t.index] - round.totals[t.index], Covered: to.Sub(round.at), At: to, Known: true}
				break
			}
		}
	}
	return out
}
