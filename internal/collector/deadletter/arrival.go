package deadletter

import (
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
)

// Inflow is the rate at which dead letters arrived. Of what arrived in a shared queue none may be the pipeline's, or all.
func (w *Watch) Inflow(past *counter.Past, b Broker, span time.Duration) dedup.Figure {
	f := figure.ArrivalRate(past.Gain(span, w.arrived), span)
	if len(w.Targets) == 0 {
		f.Quality, f.Why = dedup.QualityUnknown, None(b)
		return f
	}
	shared, known := w.sharedArrivals(past, b.Shared, span)
	switch {
	case !f.Known():
	case !known:
		f.AtLeast, f.Why = true, w.SharedWords(b.Shared)
	case shared > 0:
		f.High, f.Why = f.Low+shared/f.Covered.Hours(), w.SharedWords(b.Shared)
	}
	return f
}

// sharedArrivals is what arrived in the shared dead-letter queues over a window, and whether that is known of all of them.
func (w *Watch) sharedArrivals(past *counter.Past, s Sharing, span time.Duration) (n float64, known bool) {
	known = true
	for _, t := range w.Targets {
		if shared := s.Of(t.QueueRef); shared != nil && !t.Onward {
			g := past.Gain(span, shared.arrived)
			n, known = n+g.Delta, known && g.Known
		}
	}
	return n, known
}

// Show returns the shared queues of a broker, for the snapshot that has their pipelines. health is that of the broker, and why
// says why it cannot be shown, empty when it can.
func (s Sharing) Show(snapshot *dedup.Snapshot, b Broker, past *counter.Past, health dedup.SourceHealth, why string) []dedup.SharedQueue {
	var out []dedup.SharedQueue
	for _, shared := range s.All {
		q := dedup.SharedQueue{QueueRef: shared.QueueRef, Broker: b.Name, Queues: shared.Strangers, Pipelines: shared.Pipelines()}
		if why != "" {
			q.Depth, q.Inflow, q.Down = dedup.Unknown(dedup.Count, why), dedup.Unknown(dedup.PerHour, why), []dedup.SourceHealth{health}
		} else {
			q.Depth, q.Inflow = Depth(q.QueueRef, b).Depth, shared.inflow(past)
			q.Acknowledged = acknowledged(snapshot, &q)
		}
		out = append(out, q)
	}
	return out
}

// inflow is the rate at which messages arrived in the queue.
func (s *Shared) inflow(past *counter.Past) dedup.Figure {
	if past.Failure != "" {
		return dedup.Unknown(dedup.PerHour, past.Failure)
	}
	f := figure.ArrivalRate(past.Gain(time.Hour, s.arrived), time.Hour)
	f.Source = "depth of the dead-letter queue"
	return f
}
