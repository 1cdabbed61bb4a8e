package collector

import (
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

// recoveries are the findings about the outages that have just ended.
func (c *Collector) recoveries(p *pipeline, v view) []dedup.Finding {
	ready := dedup.Unknown(dedup.Count, v.brokerDown)
	if v.brokerDown == "" {
		ready = p.gauges("")[dedup.Ready]
	}
	var out []dedup.Finding
	for _, l := range c.outagesOf(p) {
		out = append(out, finding.Recovering(l.last.source, l.last.lasted(v.now), l.last.until, ready, v.now)...)
	}
	return out
}
