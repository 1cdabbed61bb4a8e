package truth

import (
	"math"
	"slices"
	"time"
)

// A Distribution is the exact mean and quantiles, by nearest rank, of N durations.
type Distribution struct {
	N                   int
	Mean, P50, P95, P99 time.Duration
}

// durations keeps every one: what is held against them must not share their error.
type durations struct {
	all []time.Duration
	sum time.Duration
}

func (d *durations) add(v time.Duration) {
	d.all = append(d.all, v)
	d.sum += v
}

func (d *durations) distribution() Distribution {
	if len(d.all) == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(d.all))
	at := func(q float64) time.Duration { return sorted[int(math.Ceil(q*float64(len(sorted))))-1] }
	return Distribution{N: len(sorted), Mean: d.sum / time.Duration(len(sorted)), P50: at(0.50), P95: at(0.95), P99: at(0.99)}
}
