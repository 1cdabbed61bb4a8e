package dedup_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

func TestASketchGivesEachQuantileToTwoPercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Map(rapid.Float64Range(math.Log(2e5), math.Log(3.6e12)), func(x float64) time.Duration { return time.Duration(math.Exp(x)) }), 1, 300).Draw(t, "durations")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		var s dedup.Sketch
		for _, d := range all {
			s.Add(d)
		}
		slices.Sort(all)
		want := all[int(math.Ceil(q*float64(len(all))))-1]
		if got := s.Quantile(q); math.Abs(float64(got)/float64(want)-1) > 0.0201 {
			t.Fatalf("the %v-quantile is %s, not %s", q, got, want)
		}
	})
}

func TestWhatASketchGainedIsTheSketchOfWhatWasAdded(t *testing.T) {
	var s, late dedup.Sketch
	for n := range 100 {
		s.Add(time.Duration(n) * time.Millisecond)
	}
	earlier := s.Clone()
	for n := range 50 {
		s.Add(time.Duration(n) * time.Second)
		late.Add(time.Duration(n) * time.Second)
	}
	gained := s.Since(earlier)
	if gained.Count() != 50 || gained.Sum() != late.Sum() || gained.Quantile(0.9) != late.Quantile(0.9) {
		t.Errorf("gained %d, %s, p90 %s; added %d, %s, %s", gained.Count(), gained.Sum(), gained.Quantile(0.9), late.Count(), late.Sum(), late.Quantile(0.9))
	}
	earlier.Merge(gained)
	if earlier.Count() != s.Count() || earlier.Quantile(0.5) != s.Quantile(0.5) {
		t.Errorf("merged: %d, p50 %s; whole: %d, %s", earlier.Count(), earlier.Quantile(0.5), s.Count(), s.Quantile(0.5))
	}
}

func TestAnEmptySketchHasNoQuantile(t *testing.T) {
	var s dedup.Sketch
	if got := s.Quantile(0.5); got != 0 {
		t.Errorf("p50 of nothing is %s", got)
	}
}
