package jobs

import (
	"testing"
	"time"
)

func TestTheRateCountsWhatIsLookedAtAndIsNeverBelowZero(t *testing.T) {
	j, now := &liveJob{job: Job{State: JobRunning}}, time.Unix(1_800_000_000, 0)
	j.measure(now)
	j.job.Counts = Counts{Moved: 1, Left: 99}
	if j.measure(now.Add(time.Second)); j.job.Rate != 100 {
		t.Errorf("%g per second", j.job.Rate)
	}
	j.job.Counts = Counts{Moved: 1}
	if j.measure(now.Add(2 * time.Second)); j.job.Rate < 0 || j.job.Rate > 1 {
		t.Errorf("%g per second over both runs", j.job.Rate)
	}
	j.marks = []mark{{now, 500}}
	if j.measure(now.Add(time.Second)); j.job.Rate != 0 {
		t.Errorf("after another run began: %g per second", j.job.Rate)
	}
}
