package pace

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

func TestTheOldestAreKeptInOrder(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 3*dedup.MaxListed).Draw(r, "n")
		seed := rapid.IntRange(1, 1<<30).Draw(r, "seed")
		var all []dedup.Marker
		var kept Oldest
		for i := range n {
			x := (i*7919 + seed) * seed % 5003
			m := dedup.Marker{Since: base.Add(time.Duration(x) * time.Second), Expires: base.Add(time.Hour)}
			switch x % 11 {
			case 0:
				m.Expires = time.Time{}
			case 1:
				m.Since = time.Time{}
			case 2:
				m.Since, m.Expires = time.Time{}, time.Time{}
			}
			all = append(all, m)
			if kept.Takes(m.Expires, m.Since) {
				kept.Add(m)
			}
		}
		ByAge(all)
		want, got := all[:min(n, dedup.MaxListed)], kept.Sorted()
		if !slices.EqualFunc(want, got, func(a, b dedup.Marker) bool { return a.Since.Equal(b.Since) && a.Expires.Equal(b.Expires) }) {
			r.Fatalf("%d kept of %d are not the oldest in order", len(got), n)
		}
	})
}
