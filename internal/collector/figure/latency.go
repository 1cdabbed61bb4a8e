package figure

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const HistogramSource = "reported histogram"

// A Latency is a latency distribution over one window. Buckets are cumulated over Bounds; there are none where only a mean is known.
type Latency struct {
	Window  time.Duration
	Covered time.Duration
	At      time.Time
	Bounds  []float64
	Buckets []float64
	// Sum is in seconds, N how many were observed.
	Sum, N float64
	// Source is where it was published.
	Source string
}

// A Latencies holds the figures of one distribution.
type Latencies struct{ Mean, P50, P95, P99 dedup.Figure }

// Figures computes mean and percentiles of a reported histogram.
func (s Latency) Figures() Latencies {
	n := s.N
	if n <= 0 {
		return UnknownLatency(s.Window, "no latency was reported in the window")
	}
	out := UnknownLatency(s.Window, "only a mean is published: switch histograms on")
	out.Mean = s.figure(s.Sum/n, n, "sum / count of the reported histogram")
	if len(s.Buckets) > 1 {
		out.P50, out.P95, out.P99 = s.quantile(0.50, n), s.quantile(0.95, n), s.quantile(0.99, n)
	}
	return out
}

// quantile interpolates within the bucket that holds the quantile, as Prometheus does. In the last bucket, which has
// no upper bound, the answer is its lower bound and "at least".
func (s Latency) quantile(q, n float64) dedup.Figure {
	bounds := s.Bounds
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

func (s Latency) figure(v, n float64, formula string) dedup.Figure {
	f := dedup.Exact(dedup.Measured, dedup.Seconds, v, s.At, s.Source)
	f.Window, f.Covered, f.N, f.Formula = s.Window, s.Covered, n, formula
	return f
}

// UnknownLatency is a latency that is unknown for one reason.
func UnknownLatency(window time.Duration, why string) Latencies {
	f := dedup.Unknown(dedup.Seconds, why)
	f.Window, f.Better = window, "Let the consumers report latencies (docs/consumers.md)."
	return Latencies{f, f, f, f}
}

// OfWork computes the processing time of the messages that were completed in a span.
func OfWork(s sample.EventSpan, scheme dedup.Scheme) Latencies {
	to, from := s.To.Work.Sketch(), s.From.Work.Sketch()
	times := to.Since(from)
	n := float64(times.Count())
	if n <= 0 {
		return UnknownLatency(s.Window, "no work was seen from its claim to its completion in the window")
	}
	q := rate.EventQuality(scheme)
	quantile := func(share float64, word string) dedup.Figure {
		v := times.Quantile(share).Seconds()
		f := s.Figure(q, dedup.Seconds, v, n, workSource, fmt.Sprintf(workFormula, word))
		f.Error = v * sketchError
		return f
	}
	return Latencies{
		Mean: s.Figure(q, dedup.Seconds, times.Sum().Seconds()/n, n, workSource, "mean of the times from claim to completion"),
		P50:  quantile(0.50, "p50"), P95: quantile(0.95, "p95"), P99: quantile(0.99, "p99"),
	}
}

// sketchError is the largest relative error of a quantile of dedup.Sketch.
const sketchError = 0.02

const (
	workSource  = "store events: claim to completion, without prefetch wait"
	workFormula = "%s of the times from claim to completion, within 2 %%"
)
