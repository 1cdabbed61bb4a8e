package collector

import (
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

// recoveries are the findings about the outages that have just ended.
func (c *Collector) recoveries(p *pipeline, v view) []dedup.Finding {
	ready := dedup.Unknown(dedup.Count, v.brokerDown)
	if v.brokerDown == "" {
		ready = p.depths().ready
	}
	var out []dedup.Finding
	for _, o := range c.turns.Ended(p.watched()...) {
		out = append(out, finding.Recovering(o.Source, o.Lasted(v.now), o.Until, ready, v.now)...)
	}
	return out
}
