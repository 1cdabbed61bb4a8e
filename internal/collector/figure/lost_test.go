package figure

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

// TestTheIDGapSeesNoDroppedDeadLetters: what its rows tell of lost messages is a lower bound, as everywhere.
func TestTheIDGapSeesNoDroppedDeadLetters(t *testing.T) {
	out := dedup.WindowFigures{Window: time.Hour}
	x := Explanation{Gap: rate.IDGapResult{Lost: dedup.Figure{Unit: dedup.Count, Quality: dedup.Measured, N: 400}}}
	x.fromRows(&out)
	if !out.Lost.Known() || !out.Lost.AtLeast || !strings.Contains(out.Lost.Why, "at least: messages dropped") {
		t.Fatalf("%+v", out.Lost)
	}
}
