package collector

import "time"

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

// A deadAge is the age that the oldest dead letter has at least.
type deadAge struct {
	known bool
	age   time.Duration
	queue string
	// how says how it is known.
	how string
}

// oldestDeadLetter returns the age of the oldest dead letter that is surely the pipeline's, as far as one is known. Publishers write
// timestamps as they please, so that one which lies ahead or years back counts for nothing.
func (p *pipeline) oldestDeadLetter(now time.Time) deadAge {
	const believable = 2 * 365 * 24 * time.Hour
	var oldest deadAge
	note := func(queue string, at time.Time, how string) {
		if age := now.Sub(at); !at.IsZero() && age > oldest.age && age < believable {
			oldest = deadAge{true, age, queue, how}
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
