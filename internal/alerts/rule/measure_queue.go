package rule

import (
	"fmt"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// ofQueue is a measure of shared dead-letter queues. What was read of a broker that is down is old, and says nothing.
func ofQueue(judge func(q *dedup.SharedQueue, r Rule, j Judgement) Judgement) measure {
	return measure{kind: OfQueue, rests: []string{"broker"}, judge: func(_ *Round, s *Subject, r Rule, j Judgement) Judgement {
		j.Evidence = []string{shared(s.queue)}
		return judge(s.queue, r, j)
	}}
}

// shared says whose the messages of a queue may be.
func shared(q *dedup.SharedQueue) string {
	const most = 10
	some := func(names []string) string {
		if more := len(names) - most; more > 0 {
			return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
		}
		return strings.Join(names, ", ")
	}
	text := "Its messages may be of pipelines " + some(q.Pipelines)
	if len(q.Pipelines) == 1 {
		text = "Its messages may be of pipeline " + q.Pipelines[0]
	}
	if n := len(q.Queues); n == 1 {
		text += ", and of queue " + q.Queues[0] + " that no pipeline has"
	} else if n > 1 {
		text += ", and of queues " + some(q.Queues) + " that no pipeline has"
	}
	return text + ": which are whose is not known without looking at them."
}

// sharedDeadLetters counts the messages of a shared queue beyond those that somebody acknowledged.
func sharedDeadLetters(q *dedup.SharedQueue, r Rule, j Judgement) Judgement {
	return j.waiting(r, q.Depth, max(0, q.Depth.Low-float64(q.Acknowledged)), q.Acknowledged)
}

func sharedInflow(q *dedup.SharedQueue, r Rule, j Judgement) Judgement {
	return j.hourly(q.Inflow, r, "dead letter")
}
