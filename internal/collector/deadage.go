package collector

import (
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

// A deadHead follows how long the oldest message of a dead-letter queue has been there: at least since a time from which
// on the queue was never seen empty and nothing was seen to leave it.
type deadHead struct {
	since   time.Time
	depth   int64
	settled float64
}

// observe takes a reading: the depth, and our cumulative count of messages that consumers settled.
func (h *deadHead) observe(depth int64, settled float64, at time.Time) {
	was := *h
	*h = deadHead{was.since, depth, settled}
	switch {
	case depth == 0:
		h.since = time.Time{}
	case was.since.IsZero(), depth < was.depth, settled != was.settled, at.Before(was.since):
		h.since = at
	}
}

// oldestDeadLetter returns the age of the oldest dead letter that is surely the pipeline's, as far as one is known. Publishers write
// timestamps as they please, so that one which lies ahead or years back counts for nothing.
func (p *pipeline) oldestDeadLetter(now time.Time) finding.DeadLetterAge {
	const believable = 2 * 365 * 24 * time.Hour
	var oldest finding.DeadLetterAge
	note := func(queue string, at time.Time, how string) {
		if age := now.Sub(at); !at.IsZero() && age > oldest.Age && age < believable {
			oldest = finding.DeadLetterAge{Known: true, Age: age, Queue: queue, How: how}
		}
	}
	for _, t := range p.targets {
		q := p.broker.queues[t.QueueRef]
		if q == nil || q.Messages == nil || *q.Messages == 0 || p.broker.shared[t.QueueRef] != nil {
			continue
		}
		if q.HeadTimestamp != nil {
			note(t.Name, *q.HeadTimestamp, "its timestamp")
		}
		if d := p.dead[t.QueueRef]; d != nil {
			note(t.Name, d.head.since, "the time that the queue has been watched for")
		}
	}
	return oldest
}

// deadLettersWait finds dead letters beyond those that were acknowledged. Those in a shared queue may all be another's.
func (p *pipeline) deadLettersWait(st *dedup.PipelineStatus, now time.Time) []dedup.Finding {
	if !st.DeadLetters.Known() {
		return nil
	}
	return finding.WaitingDeadLetters(int64(st.DeadLetters.Low), int64(st.FreshDeadLetters()), st.OwnAcknowledged(), st.Baseline, p.heldIn(st), p.oldestDeadLetter(now), now)
}

// heldIn are the dead-letter queues of the pipeline alone that hold messages.
func (p *pipeline) heldIn(st *dedup.PipelineStatus) []dedup.QueueRef {
	var refs []dedup.QueueRef
	for _, q := range st.DeadLetterQueues {
		if q.Depth.Known() && q.Depth.Value > 0 && !q.Shared.Any() {
			refs = append(refs, q.QueueRef)
		}
	}
	return refs
}
