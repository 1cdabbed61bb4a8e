package queue

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
)

// Depths are the instantaneous sums over some queues.
type Depths struct{ Ready, Unacked, Consumers dedup.Figure }

// DepthsOf are those of some queues of a broker, as of a time.
func DepthsOf(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue, broker string, at time.Time) Depths {
	sum := func(field func(*dedup.Queue) *int64) dedup.Figure {
		var sum int64
		for _, ref := range refs {
			q := queues[ref]
			if q == nil {
				return dedup.Unknown(dedup.Count, finding.QueueNotFound(ref.Name, broker))
			}
			n := field(q)
			if n == nil {
				return dedup.Unknown(dedup.Count, fmt.Sprintf("the broker does not say for queue %s (state %s)", text.Name(ref.Name), text.Name(q.State)))
			}
			sum += *n
		}
		return dedup.Exact(dedup.Measured, dedup.Count, float64(sum), at, "queue depths of the broker")
	}
	return Depths{
		Ready:     sum(func(q *dedup.Queue) *int64 { return q.Ready }),
		Unacked:   sum(func(q *dedup.Queue) *int64 { return q.Unacked }),
		Consumers: sum(func(q *dedup.Queue) *int64 { return q.Consumers }),
	}
}

// Store adds what is stored of the sums of a pipeline.
func (d Depths) Store(into counter.Batch, pipeline string) {
	into.Figure(series.QueueReady, d.Ready, "pipeline", pipeline)
	into.Figure(series.QueueUnacked, d.Unacked, "pipeline", pipeline)
	into.Figure(series.QueueConsumers, d.Consumers, "pipeline", pipeline)
}

// Vanishing reports whether messages can leave one of some queues without being redelivered.
func Vanishing(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue) bool {
	for _, ref := range refs {
		if q := queues[ref]; q != nil && topology.LosesMessages(q) {
			return true
		}
	}
	return false
}
