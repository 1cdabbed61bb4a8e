package sample

import (
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
)

func TestAClockThatIsSetBackDropsOnlyWhatComesAgain(t *testing.T) {
	day := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	var all Joints
	for _, second := range []int{1, 2, 3, 4, 2, 3, 4} {
		all.Add([]estimate.Joint{{At: day.Add(time.Duration(second) * time.Second), Run: 7, Acked: float64(second)}}, day.Add(time.Minute))
	}
	var seconds, runs []int
	for _, r := range all.Readings {
		seconds, runs = append(seconds, int(r.At.Sub(day)/time.Second)), append(runs, r.Run)
	}
	if !slices.Equal(seconds, []int{1, 2, 3, 4}) || !slices.Equal(runs, []int{7, 8, 8, 8}) {
		t.Errorf("%v of runs %v", seconds, runs)
	}
}
