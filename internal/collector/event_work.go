package collector

import (
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/sample"
)

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
func (c *Collector) eventWork(p *pipeline, v view, w time.Duration, without figure.Latencies) figure.Latencies {
	switch why := p.whyNoWork(v); why {
	case "":
	case " ":
		return without
	default:
		return figure.UnknownLatency(w, joinReasons(without.Mean.Why, why))
	}
	s, ok := sample.SpanOf(p.store.told.Epoch(), w)
	if !ok {
		return figure.UnknownLatency(w, joinReasons(without.Mean.Why, "the store's events were read only once yet"))
	}
	if got := figure.OfWork(s, v.scheme); got.Mean.Known() {
		return got
	}
	return without
}
