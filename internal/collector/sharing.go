package collector

import (
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/records"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// A sharedQueue is a dead-letter queue whose messages may be of others than one pipeline.
type sharedQueue struct {
	dedup.QueueRef
	users []*pipeline
	// strangers are queues that none of the users has, and whose dead letters may come there.
	strangers []string
	// lead is the one of the users that counts what arrives.
	lead    *pipeline
	arrived *tally
}

// findShared finds the dead-letter queues of a broker that several pipelines have, or that are fed by queues of none.
func (b *brokerWatch) findShared(all []*pipeline, bk *book) {
	b.shared = make(map[dedup.QueueRef]*sharedQueue)
	b.sharedOrder = nil
	users := make(map[dedup.QueueRef][]*pipeline)
	var order []dedup.QueueRef
	for _, p := range all {
		if p.broker != b {
			continue
		}
		for _, t := range p.targets {
			if users[t.QueueRef] == nil {
				order = append(order, t.QueueRef)
			}
			users[t.QueueRef] = append(users[t.QueueRef], p)
		}
	}
	for _, ref := range order {
		s := &sharedQueue{QueueRef: ref, users: users[ref], strangers: strangers(b.index, ref, users[ref]), lead: users[ref][0]}
		if len(s.users) == 1 && len(s.strangers) == 0 {
			continue
		}
		if i := slices.IndexFunc(s.users, func(p *pipeline) bool { return !p.onlyOnward(ref) }); i >= 0 {
			s.lead = s.users[i]
		}
		s.arrived = bk.tally(series.SharedArrived, "broker", b.broker.Name(), "vhost", ref.Vhost, "queue", ref.Name)
		b.shared[ref] = s
		b.sharedOrder = append(b.sharedOrder, s)
	}
}

// onlyOnward reports whether a dead-letter queue gets from the pipeline only what was in another one before.
func (p *pipeline) onlyOnward(ref dedup.QueueRef) bool {
	return slices.ContainsFunc(p.targets, func(t topology.Target) bool { return t.QueueRef == ref && t.Onward })
}

// strangers are the queues of none of the pipelines whose dead letters may come into one, other than over the queues of these pipelines.
func strangers(ix *topology.Index, ref dedup.QueueRef, users []*pipeline) []string {
	if ix == nil {
		return nil
	}
	sources, passed := make(map[dedup.QueueRef]bool), make(map[dedup.QueueRef]bool)
	for _, p := range users {
		for _, s := range p.refs {
			sources[s] = true
		}
		for _, q := range p.found.Passed {
			passed[q] = true
		}
		for _, t := range p.targets {
			passed[t.QueueRef] = true
		}
	}
	return ix.Strangers(ref, sources, passed)
}

// sharedWith says who else may have put messages into a dead-letter queue of the pipeline.
func (p *pipeline) sharedWith(ref dedup.QueueRef) dedup.Sharing {
	shared := p.broker.shared[ref]
	if shared == nil {
		return dedup.Sharing{}
	}
	out := dedup.Sharing{Queues: shared.strangers}
	for _, other := range shared.users {
		if other != p {
			out.Pipelines = append(out.Pipelines, other.Name)
		}
	}
	return out
}

// sharingKnown reports whether it is known which of the pipeline's dead-letter queues are shared: nobody is found to share one before
// the topology was read, and a reading that failed tells nothing either.
func (p *pipeline) sharingKnown() bool { return p.broker.index != nil }

// sharedOfThem are the shared ones of the pipeline's dead-letter queues.
func (p *pipeline) sharedOfThem() records.Shared {
	out := records.Shared{Known: p.sharingKnown()}
	for _, t := range p.targets {
		if p.sharedWith(t.QueueRef).Any() {
			out.Queues = append(out.Queues, t.QueueRef)
		}
	}
	return out
}

// sharedWords says of which of the pipeline's dead-letter queues nobody knows whose the messages are; empty where there is none.
func (p *pipeline) sharedWords() string {
	var parts []string
	for _, t := range p.targets {
		if s := p.sharedWith(t.QueueRef); s.Any() {
			parts = append(parts, name(t.Name)+" is shared with "+sharers(s))
		}
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
		parts = append(parts, verb(n, "pipeline ", "pipelines ")+listNames(s.Pipelines))
	}
	if n := int64(len(s.Queues)); n > 0 {
		parts = append(parts, verb(n, "queue ", "queues ")+listNames(s.Queues)+" of no pipeline")
	}
	return strings.Join(parts, " and ")
}

// sharedArrivals is what arrived in the pipeline's shared dead-letter queues over a window, and whether that is known of all of them.
func (p *pipeline) sharedArrivals(past *past, w time.Duration) (n float64, known bool) {
	known = true
	for _, t := range p.targets {
		if s := p.broker.shared[t.QueueRef]; s != nil && !t.Onward {
			g := past.gain(w, s.arrived)
			n, known = n+g.Delta, known && g.Known
		}
	}
	return n, known
}

// sharedQueues are the shared queues of all brokers, for the snapshot that has their pipelines.
func (c *Collector) sharedQueues(s *dedup.Snapshot, now time.Time) []dedup.SharedQueue {
	var out []dedup.SharedQueue
	for _, b := range c.brokers {
		h := b.samples.status(now)
		why := down("broker "+name(b.broker.Name()), h)
		for _, shared := range b.sharedOrder {
			q := dedup.SharedQueue{QueueRef: shared.QueueRef, Broker: b.broker.Name(), Queues: shared.strangers}
			for _, p := range shared.users {
				q.Pipelines = append(q.Pipelines, p.Name)
			}
			if why != "" {
				q.Depth, q.Inflow, q.Down = dedup.Unknown(dedup.Count, why), dedup.Unknown(dedup.PerHour, why), []dedup.SourceHealth{h}
			} else {
				q.Depth, q.Inflow = shared.depth(), c.sharedInflow(shared)
				q.Acknowledged = acknowledgedOf(s, &q)
			}
			out = append(out, q)
		}
	}
	return out
}

func (s *sharedQueue) depth() dedup.Figure {
	sample, _ := s.lead.broker.sample.get()
	return s.lead.deadLetterQueue(topology.Target{QueueRef: s.QueueRef}, sample.At).Depth
}

// sharedInflow is the rate at which messages arrived in a shared queue.
func (c *Collector) sharedInflow(s *sharedQueue) dedup.Figure {
	if c.past.failure != "" {
		return dedup.Unknown(dedup.PerHour, c.past.failure)
	}
	f := figure.ArrivalRate(c.past.gain(time.Hour, s.arrived), time.Hour)
	f.Source = "depth of the dead-letter queue"
	return f
}

// acknowledgedOf is how many messages of a shared queue were acknowledged: of all dead letters of a pipeline that has it there are only
// so many beyond those that were acknowledged there. What lies in queues of the pipeline alone is left out where the baseline tells it apart.
func acknowledgedOf(s *dedup.Snapshot, q *dedup.SharedQueue) int64 {
	if !q.Depth.Known() {
		return 0
	}
	fresh := q.Depth.Value
	for _, of := range q.Pipelines {
		if p, ok := s.Pipeline(of); ok && p.Baseline != nil && p.DeadLetters.Known() {
			fresh = min(fresh, freshBeyond(p.Baseline, p.DeadLetters))
		}
	}
	return whole(q.Depth.Value - fresh)
}

func freshBeyond(b *dedup.Baseline, all dedup.Figure) float64 {
	if b.Split {
		return max(0, all.Width()-float64(b.Count-b.Own))
	}
	return max(0, all.High-float64(b.Count))
}

// keepShared adds what is stored of the shared dead-letter queues of a broker.
func (b *brokerWatch) keepShared(into batch) {
	for _, s := range b.sharedOrder {
		into.tallies(s.arrived)
		if q := b.queues[s.QueueRef]; q != nil && q.Messages != nil {
			into.add(series.SharedDeadLetters, float64(*q.Messages), "broker", b.broker.Name(), "vhost", s.Vhost, "queue", s.Name)
		}
	}
}
