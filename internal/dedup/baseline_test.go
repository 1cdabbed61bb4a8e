package dedup

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// depthsOf are the dead letters of a pipeline: so many of its own, and so many more in queues that others share.
func depthsOf(own, shared int64) Figure {
	f := Exact(Measured, Count, float64(own), time.Unix(1_800_000_000, 0), "depths")
	f.High += float64(shared)
	return f
}

// TestWhatHappensInASharedQueueMakesNoAcknowledgedLetterNew: the own letters that are new are those now less those that were acknowledged
// and did not leave since, whatever comes into shared queues or leaves them.
func TestWhatHappensInASharedQueueMakesNoAcknowledgedLetterNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.Int64Range(0, 1000)
		own, shared := depth.Draw(t, "own"), depth.Draw(t, "shared")
		line := Baseline{Count: own + shared, Own: own, Split: true}
		known, knownShared := own, shared
		for range rapid.IntRange(1, 12).Draw(t, "readings") {
			if rapid.Bool().Draw(t, "the own queue changes") {
				own = depth.Draw(t, "own")
			}
			if rapid.Bool().Draw(t, "the shared queue changes") {
				shared = depth.Draw(t, "shared")
			}
			known, knownShared = min(known, own), min(knownShared, shared)
			line = line.Lowered(own, shared)
			p := PipelineStatus{DeadLetters: depthsOf(own, shared), Baseline: &line}
			if got := p.FreshDeadLetters(); got != float64(own-known) {
				t.Fatalf("%v of %d own letters are new, want %d; %d are shared; %+v", got, own, own-known, shared, line)
			}
			if line.Count != known+knownShared {
				t.Fatalf("%d are acknowledged, want %d own and %d shared", line.Count, known, knownShared)
			}
		}
	})
}

func TestABaselineWithoutItsOwnPartFallsWithAllDeadLetters(t *testing.T) {
	line := Baseline{Count: 15}
	for _, tt := range []struct{ own, shared, count, fresh int64 }{{5, 10, 15, 0}, {8, 10, 15, 3}, {8, 2, 10, 0}, {20, 10, 10, 20}} {
		line = line.Lowered(tt.own, tt.shared)
		p := PipelineStatus{DeadLetters: depthsOf(tt.own, tt.shared), Baseline: &line}
		if got := p.FreshDeadLetters(); line.Count != tt.count || line.Split || got != float64(tt.fresh) {
			t.Errorf("with %d own and %d shared: %+v and %v new, want %d and %d", tt.own, tt.shared, line, got, tt.count, tt.fresh)
		}
	}
}
