package collector

import (
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// listed is what the newest readings tell of the broker's queues.
func (b *brokerWatch) listed() deadletter.Broker {
	t, _ := b.read.Topology.Get()
	return deadletter.Broker{Name: b.read.Name(), Queues: b.queues, Complete: b.complete, Born: b.born, Index: b.index, Unread: t.Err, Moved: b.moved, Shared: b.shared}
}

// findShared finds the dead-letter queues of the broker that several pipelines have, or that are fed by queues of none.
func (b *brokerWatch) findShared(all []*pipeline, bk *counter.Book) {
	var users []*deadletter.Watch
	for _, p := range all {
		if p.broker == b {
			users = append(users, &p.dead)
		}
	}
	b.shared, b.sharedArrived = deadletter.FindShared(b.index, users), make(map[dedup.QueueRef]*counter.Tally)
	for _, s := range b.shared.All {
		b.sharedArrived[s.QueueRef] = bk.Tally(series.SharedArrived, "broker", b.read.Name(), "vhost", s.Vhost, "queue", s.Name)
	}
}

// sharedArrivals is what arrived in the pipeline's shared dead-letter queues over a window, and whether that is known of all of them.
func (p *pipeline) sharedArrivals(past *counter.Past, w time.Duration) (n float64, known bool) {
	known = true
	for _, t := range p.dead.Targets {
		if p.broker.shared.Of(t.QueueRef) != nil && !t.Onward {
			g := past.Gain(w, p.broker.sharedArrived[t.QueueRef])
			n, known = n+g.Delta, known && g.Known
		}
	}
	return n, known
}

// sharedQueues are the shared queues of all brokers, for the snapshot that has their pipelines.
func (c *Collector) sharedQueues(s *dedup.Snapshot, now time.Time) []dedup.SharedQueue {
	var out []dedup.SharedQueue
	for _, b := range c.brokers {
		h, listed := b.read.Samples.Status(now), b.listed()
		sample, _ := b.read.Sample.Get()
		why := source.WhyDown("broker "+name(b.read.Name()), h)
		for _, shared := range b.shared.All {
			q := dedup.SharedQueue{QueueRef: shared.QueueRef, Broker: b.read.Name(), Queues: shared.Strangers, Pipelines: shared.Pipelines()}
			if why != "" {
				q.Depth, q.Inflow, q.Down = dedup.Unknown(dedup.Count, why), dedup.Unknown(dedup.PerHour, why), []dedup.SourceHealth{h}
			} else {
				q.Depth, q.Inflow = deadletter.Depth(q.QueueRef, listed, sample.At).Depth, c.sharedInflow(b.sharedArrived[q.QueueRef])
				q.Acknowledged = deadletter.Acknowledged(s, &q)
			}
			out = append(out, q)
		}
	}
	return out
}

// sharedInflow is the rate at which messages arrived in a shared queue.
func (c *Collector) sharedInflow(arrived *counter.Tally) dedup.Figure {
	if c.past.Failure != "" {
		return dedup.Unknown(dedup.PerHour, c.past.Failure)
	}
	f := figure.ArrivalRate(c.past.Gain(time.Hour, arrived), time.Hour)
	f.Source = "depth of the dead-letter queue"
	return f
}

// keepShared adds what is stored of the shared dead-letter queues of a broker.
func (b *brokerWatch) keepShared(into counter.Batch) {
	for _, s := range b.shared.All {
		into.Tallies(b.sharedArrived[s.QueueRef])
		if q := b.queues[s.QueueRef]; q != nil && q.Messages != nil {
			into.Add(series.SharedDeadLetters, float64(*q.Messages), "broker", b.read.Name(), "vhost", s.Vhost, "queue", s.Name)
		}
	}
}
