package deadletter

import (
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

// A head follows how long the oldest message of a dead-letter queue has been there: at least since a time from which
// on the queue was never seen empty and nothing was seen to leave it.
type head struct {
	since   time.Time
	depth   int64
	settled float64
}

// observe takes a reading: the depth, and our cumulative count of messages that consumers settled.
func (h *head) observe(depth int64, settled float64, at time.Time) {
	was := *h
	*h = head{was.since, depth, settled}
	switch {
	case depth == 0:
		h.since = time.Time{}
	case was.since.IsZero(), depth < was.depth, settled != was.settled, at.Before(was.since):
		h.since = at
	}
}

// Oldest returns the age of the oldest dead letter that is surely the pipeline's, as far as one is known. Publishers write
// timestamps as they please, so that one which lies ahead or years back counts for nothing.
func (w *Watch) Oldest(b Broker, now time.Time) finding.DeadLetterAge {
	const believable = 2 * 365 * 24 * time.Hour
	var oldest finding.DeadLetterAge
	note := func(queue string, at time.Time, how string) {
		if age := now.Sub(at); !at.IsZero() && age > oldest.Age && age < believable {
			oldest = finding.DeadLetterAge{Known: true, Age: age, Queue: queue, How: how}
		}
	}
	for _, t := range w.Targets {
		q := b.Queues[t.QueueRef]
		if q == nil || q.Messages == nil || *q.Messages == 0 || b.Shared.Of(t.QueueRef) != nil {
			continue
		}
		if q.HeadTimestamp != nil {
			note(t.Name, *q.HeadTimestamp, "its timestamp")
		}
		if d := w.queues[t.QueueRef]; d != nil {
			note(t.Name, d.head.since, "the time that the queue has been watched for")
		}
	}
	return oldest
}

// Waiting finds dead letters beyond those that were acknowledged. Those in a shared queue may all be another's.
func (w *Watch) Waiting(st *dedup.PipelineStatus, b Broker, now time.Time) []dedup.Finding {
	if !st.DeadLetters.Known() {
		return nil
	}
	var alone []dedup.QueueRef // those of the pipeline alone that hold messages
	for _, q := range st.DeadLetterQueues {
		if q.Depth.Known() && q.Depth.Value > 0 && !q.Shared.Any() {
			alone = append(alone, q.QueueRef)
		}
	}
	return finding.WaitingDeadLetters(int64(st.DeadLetters.Low), int64(st.FreshDeadLetters()), st.OwnAcknowledged(), st.Baseline, alone, w.Oldest(b, now), now)
}
