package deadletter

import (
	"slices"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// homesOf returns the queues that letters of a dead-letter queue may be sent to, each with the pipeline that has it: the source queues of
// every pipeline with this dead-letter queue, and what leads from them to it by the topology, such as a delay queue. Whoever publishes a
// message may write any name into its death history, so that the history alone must never choose a queue.
func homesOf(snap *dedup.Snapshot, broker string, dead dedup.QueueRef) map[string]string {
	homes := map[string]string{}
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		if !shares(p, broker, dead) {
			continue
		}
		for _, queue := range append(slices.Clone(p.Pipeline.Queues), waysTo(p.DeadLetterRoutes, dead)...) {
			if _, known := homes[queue]; !known && queue != dead.Name {
				homes[queue] = p.Pipeline.Name
			}
		}
	}
	return homes
}

// shares reports whether a pipeline has a dead-letter queue.
func shares(p *dedup.PipelineStatus, broker string, dead dedup.QueueRef) bool {
	return p.Pipeline.Broker == broker && p.Pipeline.Vhost == dead.Vhost &&
		slices.ContainsFunc(p.DeadLetterQueues, func(q dedup.DeadLetterQueue) bool { return q.QueueRef == dead })
}

// waysTo returns the queues of its vhost whose dead letters come to a dead-letter queue, also by way of one another.
func waysTo(routes []dedup.DeadLetterRoute, dead dedup.QueueRef) []string {
	ends := map[dedup.QueueRef]bool{dead: true}
	var names []string
	for found := true; found; {
		found = false
		for _, r := range routes {
			if from := r.Source; ends[r.Target] && !ends[from] && from.Name != "" && from.Vhost == dead.Vhost {
				ends[from], found, names = true, true, append(names, from.Name)
			}
		}
	}
	return names
}

// Aimed sends a letter that does not say where it came from to the queue that somebody chose.
func (l Queue) Aimed(letter Letter) Letter {
	if letter.Target == "" && l.chosen != "" {
		letter.Target, letter.NoTarget, letter.TargetNote = l.chosen, "", "it does not name a queue that it may be sent to; this queue was chosen"
	}
	return letter
}

// targetOf returns the queue that a requeue sends a letter to: the source queue of the pipeline that it died in last, else the home that
// it died in last.
func (l Queue) targetOf(dead dedup.DeadLetter) (queue, why string) {
	if l.Parked {
		return l.Dead.Name, ""
	}
	for _, death := range dead.Deaths {
		if slices.Contains(l.Pipeline.Queues, death.Queue) {
			return death.Queue, ""
		}
	}
	for _, death := range dead.Deaths {
		if _, home := l.Homes[death.Queue]; home {
			return death.Queue, ""
		}
	}
	source, ok := dead.Source()
	switch {
	case !ok && dead.Malformed == "":
		return "", "it has no death history that says which queue it came from: it was published to this queue, or lost its headers"
	case !ok:
		return "", "its death history does not say which queue it came from"
	case source == l.Dead.Name:
		return "", "it died in this dead-letter queue itself"
	}
	return "", "its death history names queue " + admin.Printable(source, 255) + ", which is of no pipeline with this dead-letter queue. Anyone who publishes can write that, " +
		"so nothing is sent there; if it is right, list the queue under the queues of a pipeline"
}
