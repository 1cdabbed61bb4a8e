package rate

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// Ends of a time move by up to quietNear to a moment whose unrest is less than quietShare of theirs, and by up to QuietReach only for
	// less than half of what is found so: between bursts it is far less, and in steady traffic a window shall move on with every round. An unrest of
	// quietEnough stays.
	quietNear   = 5 * time.Second
	QuietReach  = 10 * time.Second
	quietShare  = 0.7
	quietFar    = 0.45
	QuietEnough = 6
	// staysNarrow is how much wider than with an older end a rate may be that is shown with a newer one.
	staysNarrow = 1.5
	// fewMessages is how many are too few for a tier.
	fewMessages = 50
)

// Narrow reports whether a rate is as narrow as what is measured, so that nothing is to be gained by an older end.
func Narrow(f dedup.Figure) bool { return f.Known() && f.Width() <= MeasuredWidest }

// Fresher reports whether a rate with a newer end is to be shown in place of a narrower one with an older end: it is not much wider, or of
// too few messages for a tier, and of no lesser quality; or the older end is no later than the one before, and a window moves on with every
// round.
func Fresher(fresh, quiet dedup.Figure, before time.Time) bool {
	width := fresh.High - fresh.Low
	switch {
	case fresh.N <= 0 || quiet.N <= 0: // one of them is refused
		return false
	case fresh.Known() && !fresh.AtMost() && !before.IsZero() && !quiet.At.After(before):
		return true
	case quiet.Known() && (!fresh.Known() || fresh.Quality > quiet.Quality || fresh.AtMost() && !quiet.AtMost()):
		return false
	}
	return width <= staysNarrow*(quiet.High-quiet.Low) || fresh.N < fewMessages && width*fresh.N <= LiveWidest
}

// QuietEnds are the readings with the least unrest near the first and the last one of a time. The end moves by no more than late.
func QuietEnds(unrest func(time.Time) float64, at func(int) time.Time, first, last int, late time.Duration) (begin, end int) {
	end = quieter(unrest, at, last, first, late)
	return quieter(unrest, at, first, end, QuietReach), end
}

// quieter returns the reading with the least unrest near one, no further off than reach, on its way to another. In bursts most of what is not known
// lies at the ends of a time.
func quieter(unrest func(time.Time) float64, at func(int) time.Time, from, to int, reach time.Duration) int {
	if from == to {
		return from
	}
	here := unrest(at(from))
	best, least, step := from, quietShare*here, 1
	if from > to {
		step = -1
	}
	away := func(k int) time.Duration { return at(k).Sub(at(from)).Abs() }
	for k := from + step; here > QuietEnough && k != to && away(k) <= reach; k += step {
		u, wanted := unrest(at(k)), least
		if away(k) > quietNear {
			wanted *= quietFar
		}
		switch {
		case u >= wanted:
		case math.IsInf(here, 1): // nothing can be counted at its end yet
			best, here, least = k, u, quietShare*u
		default:
			best, least = k, u
		}
	}
	return best
}
