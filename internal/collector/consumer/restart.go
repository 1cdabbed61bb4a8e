package consumer

import (
	"maps"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// replacedWithin is how soon another consumer must come for the one that ended to count as restarted, and not as taken away.
	replacedWithin = 10 * time.Minute
	// maxGone bounds the ended consumers of a queue that may still be replaced.
	maxGone = 1000
)

// A consumerID tells one consumer from its successor: a channel's name holds the ports of its connection.
type consumerID struct{ channel, tag string }

// restarts follow the consumers of a pipeline's queues from one topology to the next.
type restarts struct {
	// known: the newest topology told the consumers of every queue.
	known bool
	seen  map[dedup.QueueRef]map[consumerID]bool
	gone  map[dedup.QueueRef]departures
}

// departures are the consumers of a queue that ended not long ago.
type departures map[consumerID]departure

// A departure is when a consumer was first missed, and whether another one has been counted as its successor.
type departure struct {
	at       time.Time
	replaced bool
}

// take compares the consumers with those of the topology before, and returns how many were replaced. Consumers that are not
// told, or not by name (rabbitmq-server issue 2684), say nothing: the last ones that were told stand.
func (r *restarts) take(refs []dedup.QueueRef, t *dedup.Topology) (replaced int64) {
	if r.known = t.Consumers != nil; !r.known {
		return 0
	}
	if r.seen == nil {
		r.seen, r.gone = make(map[dedup.QueueRef]map[consumerID]bool), make(map[dedup.QueueRef]departures)
	}
	now := make(map[dedup.QueueRef]map[consumerID]bool)
	nameless := make(map[dedup.QueueRef]bool)
	for _, c := range t.Consumers {
		if now[c.Queue] == nil {
			now[c.Queue] = make(map[consumerID]bool)
		}
		now[c.Queue][consumerID{c.Channel, c.Tag}] = true
		nameless[c.Queue] = nameless[c.Queue] || c.Channel == ""
	}
	for _, ref := range refs {
		if nameless[ref] {
			continue
		}
		was, told := r.seen[ref]
		r.seen[ref] = now[ref]
		if told {
			replaced += r.compare(ref, was, now[ref], t.At)
		}
	}
	return replaced
}

// compare counts the consumers of a queue that took the place of one that ended not long ago. One that is listed again under
// its own name never ended: lists leave consumers out where a node restarts its statistics, or is cut off.
func (r *restarts) compare(ref dedup.QueueRef, was, is map[consumerID]bool, at time.Time) (replaced int64) {
	gone := r.gone[ref]
	if gone == nil {
		gone = make(departures)
		r.gone[ref] = gone
	}
	maps.DeleteFunc(gone, func(_ consumerID, d departure) bool { return at.Sub(d.at) > replacedWithin || d.at.After(at) })
	for id := range was {
		if !is[id] && len(gone) < maxGone {
			gone[id] = departure{at: at}
		}
	}
	newcomers, unpaired := 0, 0
	for id := range is {
		if was[id] {
			continue
		}
		d, back := gone[id]
		if !back {
			newcomers++
			continue
		}
		delete(gone, id)
		if d.replaced { // its successor took the place of another one, and is counted
			unpaired++
		}
	}
	gone.replace(unpaired)
	return int64(gone.replace(newcomers))
}

// replace notes that up to n of those who left have a successor, those who left first before others, and returns how many.
func (gone departures) replace(n int) int {
	if n == 0 {
		return 0
	}
	open := make([]consumerID, 0, len(gone))
	for id, d := range gone {
		if !d.replaced {
			open = append(open, id)
		}
	}
	slices.SortFunc(open, func(a, b consumerID) int { return gone[a].at.Compare(gone[b].at) })
	open = open[:min(n, len(open))]
	for _, id := range open {
		gone[id] = departure{at: gone[id].at, replaced: true}
	}
	return len(open)
}
