package show

import (
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// DeadDepths are the known depths of dead-letter queues, each queue once: pipelines may share one.
func DeadDepths(snap *dedup.Snapshot) map[string]float64 {
	depths := map[string]float64{}
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		for _, q := range p.DeadLetterQueues {
			if q.Depth.Known() && q.Depth.Value > 0 {
				// No name of a broker, vhost or queue holds a NUL.
				depths[strings.Join([]string{p.Pipeline.Broker, q.Vhost, q.Name}, "\x00")] = q.Depth.Value
			}
		}
	}
	return depths
}

// DeadCount is the number of dead letters that are known of, for the navigation; empty when there is none.
func DeadCount(snap *dedup.Snapshot) string {
	if n := Sum(DeadDepths(snap)); n > 0 {
		return templates.Number(n)
	}
	return ""
}

// Sum adds up the values of a map.
func Sum(values map[string]float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}
