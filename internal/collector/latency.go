package collector

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

const histogramSource = "reported histogram"

// A latencySample is a latency distribution over one window. Buckets are cumulated over dedup.LatencyBounds.
type latencySample struct {
	Window  time.Duration
	Covered time.Duration
	At      time.Time
	Buckets []float64
	// Sum is in seconds.
	Sum float64
}

// A latencyResult holds the figures of one distribution.
type latencyResult struct{ Mean, P50, P95, P99 dedup.Figure }

// latency computes mean and percentiles of a reported histogram.
func latency(s latencySample) latencyResult {
	bounds := dedup.LatencyBounds()
	if len(s.Buckets) != len(bounds) {
		return unknownLatency(s.Window, "consumers report no latencies")
	}
	n := s.Buckets[len(s.Buckets)-1]
	if n <= 0 {
		return unknownLatency(s.Window, "no latency was reported in the window")
	}
	return latencyResult{
		Mean: s.figure(s.Sum/n, n, "sum / count of the reported histogram"),
		P50:  s.quantile(0.50, n), P95: s.quantile(0.95, n), P99: s.quantile(0.99, n),
	}
}

// quantile interpolates within the bucket that holds the quantile, as Prometheus does. In the last bucket, which has
// no upper bound, the answer is its lower bound and "at least".
func (s latencySample) quantile(q, n float64) dedup.Figure {
	bounds := dedup.LatencyBounds()
	rank := q * n
	formula := fmt.Sprintf("p%g of the reported histogram, linear within a bucket", q*100)
	lower, below := 0.0, 0.0
	for i, upper := range bounds {
		if s.Buckets[i] < rank {
			lower, below = upper, s.Buckets[i]
			continue
		}
		if math.IsInf(upper, 1) {
			break
		}
		v := upper
		if in := s.Buckets[i] - below; in > 0 {
			v = lower + (upper-lower)*(rank-below)/in
		}
		return s.figure(v, n, formula)
	}
	f := s.figure(bounds[len(bounds)-2], n, formula)
	f.AtLeast = true
	f.Why = "at least: the slowest reported bucket has no upper bound"
	return f
}

func (s latencySample) figure(v, n float64, formula string) dedup.Figure {
	f := dedup.Exact(dedup.Measured, dedup.Seconds, v, s.At, histogramSource)
	f.Window, f.Covered, f.N, f.Formula = s.Window, min(s.Covered, s.Window), n, formula
	return f
}

func unknownLatency(window time.Duration, why string) latencyResult {
	f := dedup.Unknown(dedup.Seconds, why)
	f.Window, f.Better = window, "Let the consumers report latencies (docs/consumers.md)."
	return latencyResult{f, f, f, f}
}
