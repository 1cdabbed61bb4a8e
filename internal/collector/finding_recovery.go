package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// recoveringFor is how long after an outage the pipelines of the source are said to be recovering.
const recoveringFor = 5 * time.Minute

// recoveries are the findings about the outages that have just ended.
func (c *Collector) recoveries(p *pipeline, v view) []dedup.Finding {
	ready := dedup.Unknown(dedup.Count, v.brokerDown)
	if v.brokerDown == "" {
		ready = p.depths().ready
	}
	var out []dedup.Finding
	for _, l := range c.outagesOf(p) {
		out = append(out, recovering(l.last, ready, v.now)...)
	}
	return out
}

// recovering tells of an outage that has just ended: what goes on for some minutes is its aftermath.
func recovering(o outage, ready dedup.Figure, now time.Time) []dedup.Finding {
	if o.until.IsZero() || now.Sub(o.until) >= recoveringFor || now.Before(o.until) {
		return nil
	}
	waiting := "how many messages wait is not known"
	if ready.Known() {
		waiting = counted(whole(ready.Value), "message") + " waiting"
	}
	return []dedup.Finding{{
		Kind: "recovering", Tier: dedup.Normal,
		Text: fmt.Sprintf("Recovering: %s was unreachable for %s until %s; %s", name(o.source), span(o.lasted(now)),
			o.until.UTC().Format("15:04:05 MST"), waiting),
		Evidence: "Deliveries that came back during the outage are not taken for a loop; loops and standstills are judged by what happens since",
		Mend:     "Wait until the backlog has drained. Then look for markers of consumers that died meanwhile, and for messages that were given up.",
	}}
}
