package window

import (
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// Gains are what our counters gained over a window.
type Gains struct {
	Window time.Duration
	// Span is the part of the window that the history holds of any counter at all.
	Span time.Duration

	Acks, AutoAcks, Deliveries, Redeliveries sample.Increase
	// Closures are the channels that were closed in the whole broker.
	Closures sample.Increase
	// Outcomes are those that consumers report, by name; Ack and Work are the latencies.
	Outcomes  map[string]sample.Increase
	Ack, Work Histogram
}

// A Histogram is what a reported latency distribution gained, cumulated over its bounds.
type Histogram struct {
	// Known: consumers report it.
	Known   bool
	Buckets []sample.Increase
	Sum     sample.Increase
}

func (h *Histogram) figures(w time.Duration) figure.Latencies {
	s := figure.Latency{Window: w, Bounds: dedup.LatencyBounds(), Source: figure.HistogramSource}
	if !h.Known {
		return figure.UnknownLatency(w, "consumers report no latencies")
	}
	for _, g := range h.Buckets {
		s.Buckets = append(s.Buckets, g.Delta)
		s.Covered, s.At = g.Covered, g.At
	}
	s.Sum, s.N = h.Sum.Delta, s.Buckets[len(s.Buckets)-1]
	return s.Figures()
}

// all is what the histogram counted altogether.
func (h *Histogram) all() sample.Increase {
	if len(h.Buckets) == 0 {
		return sample.Increase{}
	}
	return h.Buckets[len(h.Buckets)-1]
}
