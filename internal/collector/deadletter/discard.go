package deadletter

import (
	"slices"

	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// Discarding are the queues of the pipeline whose dead letters count as discarded when there are any: its sources without a working
// dead-letter exchange, and dead-letter queues that lose messages by themselves.
func (w *Watch) Discarding(b Broker) []dedup.QueueRef {
	var refs []dedup.QueueRef
	for _, ref := range w.sources {
		if b.Index.Discards(b.Queues[ref]) {
			refs = append(refs, ref)
		}
	}
	for _, t := range w.Targets {
		if q := b.Queues[t.QueueRef]; topology.DiesUnaided(q, "") && b.Index.Discards(q) {
			refs = append(refs, t.QueueRef)
		}
	}
	return refs
}

// DiscardingElsewhere counts the queues of others in which messages can die, by themselves or by a consumer, and are discarded then.
func (w *Watch) DiscardingElsewhere(b Broker) int {
	n, dead := 0, w.Refs()
	for ref, q := range b.Queues {
		own := slices.Contains(w.sources, ref) || slices.Contains(dead, ref)
		consumed := q.Consumers == nil || *q.Consumers > 0
		if !own && (consumed || topology.DiesUnaided(q, "")) && b.Index.Discards(q) {
			n++
		}
	}
	return n
}
