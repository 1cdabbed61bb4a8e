package cause

import (
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// What counts as a rise: a level that lasts and is at least twice the one before and half a point above it.
const (
	riseSide      = 3     // points on either side
	riseLeast     = 0.005 // of the rate
	riseExplained = 0.6   // share of the variance that two levels must explain: a slow wave does not
	riseFoot      = 0.15  // of the way up from the level before
)

// A rise is when a rate began to leave its level: after From, and not later than At.
type rise struct {
	From time.Time
	At   time.Time
}

// riseOf finds the one change of level that explains the points best (least squares with two means), and follows its slope
// down to its foot: the rate of a window climbs for as long as the window is, from the moment on at which duplicates came.
func riseOf(points []dedup.Point) (rise, bool) {
	kept := make([]dedup.Point, 0, len(points))
	for _, p := range points {
		if rule.Finite(p.Value) {
			kept = append(kept, p)
		}
	}
	k, explained := bestSplit(kept)
	if k == 0 || explained < riseExplained {
		return rise{}, false
	}
	before, after := median(kept[:k]), median(kept[k:])
	if after-before < riseLeast || after < 2*before {
		return rise{}, false
	}
	foot := before + riseFoot*(after-before)
	for k > 1 && kept[k-1].Value > foot {
		k--
	}
	return rise{From: kept[k-1].At, At: kept[k].At}, true
}

// bestSplit returns the first index of the second of two levels, and the share of the variance that they explain; 0 when
// there are too few points or all are alike.
func bestSplit(points []dedup.Point) (at int, explained float64) {
	n := len(points)
	total := 0.0
	for _, p := range points {
		total += p.Value
	}
	mean := total / float64(max(n, 1))
	spread := 0.0
	for _, p := range points {
		spread += (p.Value - mean) * (p.Value - mean)
	}
	if n < 2*riseSide || spread == 0 {
		return 0, 0
	}
	sum := 0.0
	for k := 1; k <= n-riseSide; k++ {
		sum += points[k-1].Value
		left, right := sum/float64(k), (total-sum)/float64(n-k)
		between := float64(k)*(left-mean)*(left-mean) + float64(n-k)*(right-mean)*(right-mean)
		if k >= riseSide && between/spread > explained {
			at, explained = k, between/spread
		}
	}
	return at, math.Min(explained, 1)
}

func median(points []dedup.Point) float64 {
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = p.Value
	}
	slices.Sort(values)
	return values[len(values)/2]
}
