package figure

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// TestMarkersThatAreWrittenAgainAreNoDoubleEffects: a duplicate may have renewed them. They are said beside the figure, of which alerts are made.
func TestMarkersThatAreWrittenAgainAreNoDoubleEffects(t *testing.T) {
	for name, c := range map[string]struct {
		again, twice float64
		says         string
	}{
		"markers are renewed":            {98, 0, "98 done markers were written again, or may have been"},
		"work was claimed twice as well": {98, 3, "95 done markers were written again, or may have been"},
		"nothing is written again":       {0, 0, "does not show"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
			span := sample.EventSpan{Window: time.Hour, From: sample.EventReading{At: now.Add(-time.Hour)}, To: sample.EventReading{At: now, Completions: 5000, Again: c.again, Twice: c.twice}}
			f := Explanation{Span: span, SpanKnown: true}.doubleEffects(nil)
			if f.Low != c.twice || !strings.Contains(f.Why, c.says) {
				t.Errorf("%v to %v, %q", f.Low, f.High, f.Why)
			}
		})
	}
}
