package sample

import (
	"slices"
	"time"
)

// A Grain is how far apart readings stand that are older than an age.
type Grain struct{ age, apart time.Duration }

// OlderThan says how far apart readings stand that are older than an age.
func OlderThan(age, apart time.Duration) Grain { return Grain{age: age, apart: apart} }

// Thin drops the readings that are older than keptFor, and of others those that follow the one before too
// closely for their age.
func Thin[T any](readings []T, now time.Time, at func(*T) time.Time, grains ...Grain) []T {
	var last time.Time
	return slices.DeleteFunc(readings, func(r T) bool {
		age, step := now.Sub(at(&r)), at(&r).Sub(last)
		drop := age > keptFor || slices.ContainsFunc(grains, func(g Grain) bool { return age > g.age && step < g.apart })
		if !drop {
			last = at(&r)
		}
		return drop
	})
}
