package topology

import (
	"slices"

	"dedup-dashboard/internal/dedup"
)

// DeadLetters says where the dead letters of a pipeline go, by the sample and the topology of its broker as they were just read: the queues, each with how it was found, and what is wrong with the way there. It is what every round of the collector
// works with; a queue that does not exist is among them if the configuration lists it.
func DeadLetters(p dedup.Pipeline, sample *dedup.BrokerSample, topology dedup.Topology) ([]dedup.DeadLetterQueue, []dedup.Finding) {
	byRef, version := byReference(sample.Queues), sample.Info.Version
	var known []dedup.QueueRef
	for _, ref := range sourcesOf(p) {
		if byRef[ref] != nil {
			known = append(known, ref)
		}
	}
	found := Discover(NewIndex(byRef, &topology, version), sourcesOf(p), Pinned(p))
	findings := slices.Concat(found.Findings, PolicyUnknown(known, byRef), NoExchange(known, byRef, len(p.DeadLetterQueues) > 0),
		LimitDiscards(known, byRef, version, false))
	var out []dedup.DeadLetterQueue
	for _, t := range Targets(p, found) {
		out = append(out, dedup.DeadLetterQueue{QueueRef: t.QueueRef, Found: t.Found})
		if q := byRef[t.QueueRef]; q != nil {
			findings = slices.Concat(findings, Drops(q), Limits(q, version))
		}
	}
	return out, findings
}

// RoutesOf is the table of the ways that the dead letters of a pipeline take, by the sample and the topology of its broker as they were just
// read, and how many ways it leaves out.
func RoutesOf(p dedup.Pipeline, sample *dedup.BrokerSample, topology dedup.Topology) ([]dedup.DeadLetterRoute, int) {
	return Routes(p, Discover(NewIndex(byReference(sample.Queues), &topology, sample.Info.Version), sourcesOf(p), Pinned(p)))
}

func byReference(queues []dedup.Queue) map[dedup.QueueRef]*dedup.Queue {
	byRef := make(map[dedup.QueueRef]*dedup.Queue, len(queues))
	for i := range queues {
		byRef[queues[i].QueueRef] = &queues[i]
	}
	return byRef
}

func sourcesOf(p dedup.Pipeline) []dedup.QueueRef {
	var refs []dedup.QueueRef
	for _, q := range p.Queues {
		refs = append(refs, dedup.QueueRef{Vhost: p.Vhost, Name: q})
	}
	return refs
}

// Targets are the dead-letter queues of a pipeline: the listed ones, and those that the topology leads to.
func Targets(p dedup.Pipeline, found Discovery) []Target {
	var targets []Target
	listed := make(map[dedup.QueueRef]bool)
	for _, ref := range Pinned(p) {
		listed[ref] = true
		targets = append(targets, Target{QueueRef: ref, Found: "listed"})
	}
	for _, t := range found.Targets {
		if p.DiscoverDeadLetters && !listed[t.QueueRef] {
			targets = append(targets, t)
		}
	}
	return targets
}

// Pinned are the dead-letter queues that the configuration lists.
func Pinned(p dedup.Pipeline) []dedup.QueueRef {
	var refs []dedup.QueueRef
	for _, q := range p.DeadLetterQueues {
		refs = append(refs, dedup.QueueRef{Vhost: p.Vhost, Name: q})
	}
	return refs
}

// Routes are the ways of a pipeline's dead letters, and how many are left out: those that were found, and the listed
// queues that none of them leads to.
func Routes(p dedup.Pipeline, found Discovery) ([]dedup.DeadLetterRoute, int) {
	routes := slices.Clone(found.Routes)
	for _, ref := range Pinned(p) {
		if !slices.ContainsFunc(routes, func(r dedup.DeadLetterRoute) bool { return r.Target == ref }) {
			routes = append(routes, dedup.DeadLetterRoute{Target: ref, Role: dedup.RouteDeadLetter, Certain: true, Origin: "listed",
				Note: "no way was found that leads there"})
		}
	}
	return routes, found.LeftOut
}
