package rule

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// readAt is when the figures of the tests were read.
var readAt = time.Date(2026, 11, 21, 2, 40, 0, 0, time.UTC)

// withRate has the duplicate rate in each window, over 10,000 messages in 15 minutes.
func withRate(low, high float64) *dedup.PipelineStatus {
	p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()}}
	for _, w := range dedup.Windows() {
		n := math.Round(10_000 * w.Minutes() / 15)
		rate := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Ratio, Value: low, Low: low, High: high, N: n, Window: w, Covered: w, At: readAt}
		count := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Count, Value: low * n, Low: low * n, High: high * n, N: n, Window: w, Covered: w, At: readAt}
		p.Windows = append(p.Windows, dedup.WindowFigures{Window: w, DuplicateRate: rate, Duplicates: count})
	}
	return p
}

func exactly(v float64) dedup.Figure { return dedup.Exact(dedup.Measured, dedup.Count, v, readAt, "") }
