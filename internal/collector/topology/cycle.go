package topology

import (
	"slices"

	"dedup-dashboard/internal/dedup"
)

// cutCycles finds loops of queues in which the broker drops messages: one that would enter a queue where it died before, when
// none of its deaths since then was a rejection (rabbit_dead_letter:is_cycle of RabbitMQ 3.10, mc:is_death_cycle of 4.0). So what consumers
// reject survives a round through a delay queue; what died by itself in every queue of the loop does not. As 3.10.8 does not keep the deaths
// in order, a rejection before the loop was seen to save a message too: then it goes round for ever. On 4.0.5 it is dropped.
func (g *graph) cutCycles() []dedup.Finding {
	dies := func(ref dedup.QueueRef) bool { return len(automaticDeaths(g.ix.queues[ref], g.ix.version)) > 0 }
	reached := make(map[dedup.QueueRef]map[dedup.QueueRef]bool)
	for _, at := range g.order {
		if dies(at) {
			reached[at] = g.reach(at, dies)
		}
	}
	var out []dedup.Finding
	done := make(map[dedup.QueueRef]bool)
	for _, at := range g.order {
		if done[at] || !reached[at][at] {
			continue
		}
		var loop []dedup.QueueRef // its strongly connected component
		for _, other := range g.order {
			if reached[at][other] && reached[other][at] {
				done[other] = true
				loop = append(loop, other)
			}
		}
		out = append(out, g.cutIn(loop))
	}
	return out
}

// cutIn tells of one loop, by its source queue where it has one.
func (g *graph) cutIn(loop []dedup.QueueRef) dedup.Finding {
	tier := dedup.Severe
	for _, ref := range loop {
		tier = min(tier, automaticDeaths(g.ix.queues[ref], g.ix.version)[0].tier)
	}
	if i := slices.IndexFunc(loop, g.isSource); i >= 0 {
		return cycleCut(loop, automaticDeaths(g.ix.queues[loop[i]], g.ix.version)[0].does, loop[i].Name, tier)
	}
	return g.ringCut(loop, tier)
}

// An automaticDeath is a way in which messages of a queue die without a consumer's doing.
type automaticDeath struct {
	does string
	tier dedup.Tier
}

// DiesUnaided reports whether messages of a queue can die without a consumer's doing.
func DiesUnaided(q *dedup.Queue, version string) bool { return len(automaticDeaths(q, version)) > 0 }

// automaticDeaths returns how messages of a queue die by themselves, the likeliest first.
func automaticDeaths(q *dedup.Queue, version string) []automaticDeath {
	if q == nil {
		return nil
	}
	var out []automaticDeath
	if _, ok := lowestSetting(q, "message-ttl"); ok {
		out = append(out, automaticDeath{"expires", dedup.Severe})
	}
	if Bounded(q) && Overflow(q) != "reject-publish" {
		out = append(out, automaticDeath{"is pushed out of a full queue", dedup.Severe})
	}
	if limit, set, ok := deliveryLimit(q, version); ok && limit >= 0 {
		tier := dedup.Severe
		if !set {
			tier = dedup.Warning // the broker's own limit, which few messages ever reach
		}
		out = append(out, automaticDeath{"reaches the delivery limit", tier})
	}
	return out
}
