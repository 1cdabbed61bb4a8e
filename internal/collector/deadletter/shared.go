package deadletter

import (
	"slices"
	"strings"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
)

// A Shared queue is a dead-letter queue whose messages may be of others than one pipeline.
type Shared struct {
	dedup.QueueRef
	users []*Watch
	// Strangers are queues that none of the users has, and whose dead letters may come there.
	Strangers []string
	// lead is the one of the users that counts what arrives.
	lead    *Watch
	arrived *counter.Tally
}

// Pipelines are the names of those that have the queue.
func (s *Shared) Pipelines() []string {
	var names []string
	for _, w := range s.users {
		names = append(names, w.pipeline.Name)
	}
	return names
}

// Sharing are the shared queues of a broker.
type Sharing struct {
	byQueue map[dedup.QueueRef]*Shared
	// All are in the order of the configuration.
	All []*Shared
}

// FindShared finds the dead-letter queues that several pipelines of a broker have, or that are fed by queues of none.
func FindShared(broker string, ix *topology.Index, pipelines []*Watch, book *counter.Book) Sharing {
	out := Sharing{byQueue: make(map[dedup.QueueRef]*Shared)}
	users := make(map[dedup.QueueRef][]*Watch)
	var order []dedup.QueueRef
	for _, w := range pipelines {
		for _, t := range w.Targets {
			if users[t.QueueRef] == nil {
				order = append(order, t.QueueRef)
			}
			users[t.QueueRef] = append(users[t.QueueRef], w)
		}
	}
	for _, ref := range order {
		s := &Shared{QueueRef: ref, users: users[ref], Strangers: strangers(ix, ref, users[ref]), lead: users[ref][0]}
		if len(s.users) == 1 && len(s.Strangers) == 0 {
			continue
		}
		if i := slices.IndexFunc(s.users, func(w *Watch) bool { return !w.onlyOnward(ref) }); i >= 0 {
			s.lead = s.users[i]
		}
		s.arrived = book.Tally(series.SharedArrived, "broker", broker, "vhost", ref.Vhost, "queue", ref.Name)
		out.byQueue[ref], out.All = s, append(out.All, s)
	}
	return out
}

// Store adds what is stored of the shared queues.
func (s Sharing) Store(into counter.Batch, broker string, queues map[dedup.QueueRef]*dedup.Queue) {
	for _, shared := range s.All {
		into.Tallies(shared.arrived)
		if q := queues[shared.QueueRef]; q != nil && q.Messages != nil {
			into.Add(series.SharedDeadLetters, float64(*q.Messages), "broker", broker, "vhost", shared.Vhost, "queue", shared.Name)
		}
	}
}

// Of returns a shared queue, nil for one that is not shared.
func (s Sharing) Of(ref dedup.QueueRef) *Shared { return s.byQueue[ref] }

// onlyOnward reports whether a dead-letter queue gets from the pipeline only what was in another one before.
func (w *Watch) onlyOnward(ref dedup.QueueRef) bool {
	return slices.ContainsFunc(w.Targets, func(t topology.Target) bool { return t.QueueRef == ref && t.Onward })
}

// strangers are the queues of none of the pipelines whose dead letters may come into one, other than over the queues of these pipelines.
func strangers(ix *topology.Index, ref dedup.QueueRef, users []*Watch) []string {
	if ix == nil {
		return nil
	}
	sources, passed := make(map[dedup.QueueRef]bool), make(map[dedup.QueueRef]bool)
	for _, w := range users {
		for _, s := range w.sources {
			sources[s] = true
		}
		for _, q := range w.Found.Passed {
			passed[q] = true
		}
		for _, t := range w.Targets {
			passed[t.QueueRef] = true
		}
	}
	return ix.Strangers(ref, sources, passed)
}

// SharedWith says who else may have put messages into a dead-letter queue of the pipeline.
func (w *Watch) SharedWith(ref dedup.QueueRef, s Sharing) dedup.Sharing {
	shared := s.Of(ref)
	if shared == nil {
		return dedup.Sharing{}
	}
	out := dedup.Sharing{Queues: shared.Strangers}
	for _, other := range shared.users {
		if other != w {
			out.Pipelines = append(out.Pipelines, other.pipeline.Name)
		}
	}
	return out
}

// Shared are the shared ones of the dead-letter queues.
func (w *Watch) Shared(s Sharing) []dedup.QueueRef {
	var refs []dedup.QueueRef
	for _, t := range w.Targets {
		if w.SharedWith(t.QueueRef, s).Any() {
			refs = append(refs, t.QueueRef)
		}
	}
	return refs
}

// SharedWords says of which dead-letter queues nobody knows whose the messages are; empty where there is none.
func (w *Watch) SharedWords(s Sharing) string {
	var parts []string
	for _, ref := range w.Shared(s) {
		parts = append(parts, text.Name(ref.Name)+" is shared with "+sharers(w.SharedWith(ref, s)))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": how much of it is of this pipeline is not known"
}

// sharers names who else has a queue: "pipelines billing, mail and queue legacy of no pipeline".
func sharers(s dedup.Sharing) string {
	var parts []string
	if n := int64(len(s.Pipelines)); n > 0 {
		parts = append(parts, text.Agree(n, "pipeline ", "pipelines ")+text.Names(s.Pipelines))
	}
	if n := int64(len(s.Queues)); n > 0 {
		parts = append(parts, text.Agree(n, "queue ", "queues ")+text.Names(s.Queues)+" of no pipeline")
	}
	return strings.Join(parts, " and ")
}

// acknowledged is how many messages of a shared queue were acknowledged: of all dead letters of a pipeline that has it there are only
// so many beyond those that were acknowledged there. What lies in queues of the pipeline alone is left out where the baseline tells it apart.
func acknowledged(s *dedup.Snapshot, q *dedup.SharedQueue) int64 {
	if !q.Depth.Known() {
		return 0
	}
	fresh := q.Depth.Value
	for _, of := range q.Pipelines {
		if p, ok := s.Pipeline(of); ok && p.Baseline != nil && p.DeadLetters.Known() {
			fresh = min(fresh, freshBeyond(p.Baseline, p.DeadLetters))
		}
	}
	return text.Whole(q.Depth.Value - fresh)
}

func freshBeyond(b *dedup.Baseline, all dedup.Figure) float64 {
	if b.Split {
		return max(0, all.Width()-float64(b.Count-b.Own))
	}
	return max(0, all.High-float64(b.Count))
}
