package shop

import (
	"testing"
	"time"
)

func TestAProducerRestsBetweenItsBursts(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &producer{began: began, pipeline: PipelineConfig{Burst: 20 * time.Second, Rest: 40 * time.Second}}
	for _, tt := range []struct {
		name     string
		due      time.Duration
		expected time.Duration
	}{
		{"before the first burst", -3 * time.Second, 0},
		{"in the first burst", 5 * time.Second, 5 * time.Second},
		{"at the end of the burst", 20 * time.Second, 60 * time.Second},
		{"in the rest", 45 * time.Second, 60 * time.Second},
		{"in the second burst", 61 * time.Second, 61 * time.Second},
		{"far later, in a rest", 10*time.Minute + 30*time.Second, 11 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := p.afterRest(began.Add(tt.due)).Sub(began); got != tt.expected {
				t.Errorf("due after %v, published after %v, want %v", tt.due, got, tt.expected)
			}
		})
	}
	p.pipeline.Rest = 0
	if got := p.afterRest(began.Add(45 * time.Second)).Sub(began); got != 45*time.Second {
		t.Errorf("without a rest it is published after %v, want 45s", got)
	}
}
