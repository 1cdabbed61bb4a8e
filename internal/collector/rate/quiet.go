package rate

import (
	"math"
	"time"
)

const (
	// Ends of a time move by up to quietNear to a moment whose unrest is less than quietShare of theirs, and by up to quietReach only for
	// less than half of what is found so: between bursts it is far less, and in steady traffic a window shall move on with every round. An unrest of
	// quietEnough stays.
	quietNear   = 5 * time.Second
	quietReach  = 10 * time.Second
	quietShare  = 0.7
	quietFar    = 0.45
	QuietEnough = 6
)

// QuietEnds are the readings with the least unrest near the first and the last one of a time.
func QuietEnds(unrest func(time.Time) float64, at func(int) time.Time, first, last int) (begin, end int) {
	end = quieter(unrest, at, last, first)
	return quieter(unrest, at, first, end), end
}

// quieter returns the reading with the least unrest near one, on its way to another. In bursts most of what is not known lies at the ends of a time.
func quieter(unrest func(time.Time) float64, at func(int) time.Time, from, to int) int {
	if from == to {
		return from
	}
	here := unrest(at(from))
	best, least, step := from, quietShare*here, 1
	if from > to {
		step = -1
	}
	away := func(k int) time.Duration { return at(k).Sub(at(from)).Abs() }
	for k := from + step; here > QuietEnough && k != to && away(k) <= quietReach; k += step {
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
