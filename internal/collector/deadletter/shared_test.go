package deadletter

import (
	"testing"

	"dedup-dashboard/internal/dedup"
)

// TestNewLettersOfThePipelineAloneAreNoneOfTheSharedQueue, and the other way round: what was acknowledged in each falls with it alone.
func TestNewLettersOfThePipelineAloneAreNoneOfTheSharedQueue(t *testing.T) {
	for _, tt := range []struct {
		name                string
		own, shared         float64
		line                dedup.Baseline
		acknowledged, fresh int64
	}{
		{"fifty more of its own", 55, 100, dedup.Baseline{Count: 105, Own: 5, Split: true}, 100, 50},
		{"fifty more in the shared queue", 5, 150, dedup.Baseline{Count: 105, Own: 5, Split: true}, 100, 0},
		{"the shared queue was emptied", 5, 0, dedup.Baseline{Count: 105, Own: 5, Split: true}, 0, 0},
		{"whose were acknowledged was not kept", 55, 100, dedup.Baseline{Count: 105}, 50, 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			depth := dedup.Exact(dedup.Derived, dedup.Count, tt.own, now, "depths")
			depth.High += tt.shared
			line := tt.line.Lowered(int64(tt.own), int64(tt.shared))
			p := dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders"}, DeadLetters: depth, Baseline: &line}
			q := dedup.SharedQueue{Pipelines: []string{"orders", "emails"}, Depth: dedup.Exact(dedup.Measured, dedup.Count, tt.shared, now, "depth")}
			if got := acknowledged(&dedup.Snapshot{Pipelines: []dedup.PipelineStatus{p}}, &q); got != tt.acknowledged {
				t.Errorf("%d of the shared queue are acknowledged, want %d", got, tt.acknowledged)
			}
			if got := p.FreshDeadLetters(); got != float64(tt.fresh) {
				t.Errorf("%v own letters are new, want %d", got, tt.fresh)
			}
		})
	}
}
