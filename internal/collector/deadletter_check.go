package collector

import "dedup-dashboard/internal/dedup"

// DeadLetters says where the dead letters of a pipeline go, by the queues and the topology of its broker as they were just
// read: the queues, each with how it was found, and what is wrong with the way there. It is what every round of the collector
// works with; a queue that does not exist is among them if the configuration lists it.
func DeadLetters(p dedup.Pipeline, queues []dedup.Queue, topology dedup.Topology) ([]dedup.DeadLetterQueue, []dedup.Finding) {
	byRef := make(map[dedup.QueueRef]*dedup.Queue, len(queues))
	for i := range queues {
		byRef[queues[i].QueueRef] = &queues[i]
	}
	var refs, known []dedup.QueueRef
	for _, q := range p.Queues {
		ref := dedup.QueueRef{Vhost: p.Vhost, Name: q}
		refs = append(refs, ref)
		if byRef[ref] != nil {
			known = append(known, ref)
		}
	}
	found := discover(indexTopology(byRef, &topology), refs)
	var out []dedup.DeadLetterQueue
	for _, t := range deadLetterTargets(p, found) {
		out = append(out, dedup.DeadLetterQueue{QueueRef: t.QueueRef, Found: t.Found})
	}
	return out, append(found.Findings, noDeadLetterExchange(known, byRef, len(p.DeadLetterQueues) > 0)...)
}

// deadLetterTargets are the dead-letter queues of a pipeline: the listed ones, and those that the topology leads to.
func deadLetterTargets(p dedup.Pipeline, found discovery) []deadLetterTarget {
	var targets []deadLetterTarget
	listed := make(map[dedup.QueueRef]bool)
	for _, q := range p.DeadLetterQueues {
		ref := dedup.QueueRef{Vhost: p.Vhost, Name: q}
		listed[ref] = true
		targets = append(targets, deadLetterTarget{ref, "listed"})
	}
	for _, t := range found.Targets {
		if p.DiscoverDeadLetters && !listed[t.QueueRef] {
			targets = append(targets, t)
		}
	}
	return targets
}
