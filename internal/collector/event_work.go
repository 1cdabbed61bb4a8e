package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	workSource  = "store events: claim to completion, without prefetch wait"
	workFormula = "%s of the times from claim to completion, within 2 %%"
)

// workOf computes the processing time of the messages that were completed in a span.
func workOf(s sample.EventSpan, scheme dedup.Scheme) latencyResult {
	to, from := s.To.Work.Sketch(), s.From.Work.Sketch()
	times := to.Since(from)
	n := float64(times.Count())
	if n <= 0 {
		return unknownLatency(s.Window, "no work was seen from its claim to its completion in the window")
	}
	q := rate.EventQuality(scheme)
	quantile := func(share float64, word string) dedup.Figure {
		v := times.Quantile(share).Seconds()
		f := s.Figure(q, dedup.Seconds, v, n, workSource, fmt.Sprintf(workFormula, word))
		f.Error = v * sketchError
		return f
	}
	return latencyResult{
		Mean: s.Figure(q, dedup.Seconds, times.Sum().Seconds()/n, n, workSource, "mean of the times from claim to completion"),
		P50:  quantile(0.50, "p50"), P95: quantile(0.95, "p95"), P99: quantile(0.99, "p99"),
	}
}

// sketchError is the largest relative error of a quantile of dedup.Sketch.
const sketchError = 0.02

// whyNoWork says why store events tell no work of the pipeline's own; a blank where they never could.
func (p *pipeline) whyNoWork(v view) string {
	e := v.stats.Events
	switch {
	case p.store == nil || e == nil || v.storeDown != "" || v.scheme.Mark != "before":
		return " "
	case p.partner != "":
		return "the store is shared with pipeline " + name(p.partner) + ", and its events do not tell whose work they show"
	case !e.Listening:
		return joinReasons("store events do not come", e.Why)
	}
	return ""
}

// eventWork is the processing time by store events; where they cannot tell it is what was known before, with their reason
// where they could be had.
func (c *Collector) eventWork(p *pipeline, v view, w time.Duration, without latencyResult) latencyResult {
	switch why := p.whyNoWork(v); why {
	case "":
	case " ":
		return without
	default:
		return unknownLatency(w, joinReasons(without.Mean.Why, why))
	}
	s, ok := sample.SpanOf(p.store.told.Epoch(), w)
	if !ok {
		return unknownLatency(w, joinReasons(without.Mean.Why, "the store's events were read only once yet"))
	}
	if got := workOf(s, v.scheme); got.Mean.Known() {
		return got
	}
	return without
}
