package collector

import (
	"slices"
	"time"
)

// A grain is how far apart readings stand that are older than an age.
type grain struct{ age, apart time.Duration }

// thinned drops the readings of a tape that are older than tapeTotal, and of others those that follow the one before too
// closely for their age.
func thinned[T any](readings []T, now time.Time, at func(*T) time.Time, grains ...grain) []T {
	var last time.Time
	return slices.DeleteFunc(readings, func(r T) bool {
		age, step := now.Sub(at(&r)), at(&r).Sub(last)
		drop := age > tapeTotal || slices.ContainsFunc(grains, func(g grain) bool { return age > g.age && step < g.apart })
		if !drop {
			last = at(&r)
		}
		return drop
	})
}
