package deadletter

import (
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// Show fills in the dead-letter queues and their depths; down is why the broker cannot be shown, empty when it can.
func (w *Watch) Show(st *dedup.PipelineStatus, b Broker, down string) {
	for _, t := range w.Targets {
		q := Depth(t.QueueRef, b)
		if down != "" {
			q.Depth = dedup.Unknown(dedup.Count, down)
			q.Consumers, q.Type = q.Depth, ""
		}
		q.Found, q.Shared = t.Found, w.SharedWith(t.QueueRef, b.Shared)
		st.DeadLetterQueues = append(st.DeadLetterQueues, q)
	}
	st.DeadLetters = dedup.Unknown(dedup.Count, down)
	if down == "" {
		st.DeadLetters = w.sum(st.DeadLetterQueues, b)
	}
}

// Depth is what a dead-letter queue holds.
func Depth(ref dedup.QueueRef, b Broker) dedup.DeadLetterQueue {
	out := dedup.DeadLetterQueue{QueueRef: ref}
	q := b.Queues[ref]
	if q == nil {
		out.Depth = dedup.Unknown(dedup.Count, finding.QueueNotFound(ref.Name, b.Name))
		out.Consumers = out.Depth
		return out
	}
	out.Type = q.Type
	exact := func(n *int64, at time.Time) dedup.Figure {
		if n == nil {
			return dedup.Unknown(dedup.Count, "the broker does not say for queue "+text.Name(ref.Name))
		}
		return dedup.Exact(dedup.Measured, dedup.Count, float64(*n), at, "queue depths of the broker")
	}
	newest, at := b.Live.Newest(q, b.At)
	out.Depth, out.Consumers = exact(newest.Messages, at), exact(q.Consumers, b.At)
	return out
}

// sum is the depth over the dead-letter queues. Of the messages in a shared one none may be the pipeline's, or all.
func (w *Watch) sum(queues []dedup.DeadLetterQueue, b Broker) dedup.Figure {
	if len(queues) == 0 {
		return dedup.Unknown(dedup.Count, None(b))
	}
	var own, shared float64
	at := b.At
	for _, q := range queues {
		if q.Depth.Known() && q.Depth.At.Before(at) {
			at = q.Depth.At
		}
		switch {
		case !q.Depth.Known():
			return dedup.Unknown(dedup.Count, q.Depth.Why)
		case q.Shared.Any():
			shared += q.Depth.Value
		default:
			own += q.Depth.Value
		}
	}
	f := dedup.Exact(dedup.Measured, dedup.Count, own, at, "depth of the dead-letter queues")
	if shared > 0 {
		f.Quality, f.High, f.Why = dedup.Derived, own+shared, w.SharedWords(b.Shared)
	}
	return f
}

// None says why a pipeline has no dead-letter queue.
func None(b Broker) string {
	switch {
	case b.Unread != "" && b.Index == nil:
		return "dead-letter queues cannot be found: " + b.Unread
	case b.Index == nil:
		return "dead-letter queues are being looked for"
	}
	return "no dead-letter queue is listed, and none was found"
}
