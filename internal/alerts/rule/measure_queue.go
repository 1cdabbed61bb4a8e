package rule

import (
	"fmt"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// byQueue judges each shared dead-letter queue by a measure. What was read of a broker that is down is old, and says nothing.
func byQueue(measure func(q *dedup.SharedQueue, r Rule, j Judgement) Judgement) MeasureFunc {
	return func(in *Round, r Rule) []Judgement {
		why := in.Stale()
		var out []Judgement
		for i := range in.Snapshot.SharedQueues {
			q := &in.Snapshot.SharedQueues[i]
			labels := labelsOfQueue(in.Snapshot, q)
			if !r.Covers(labels) {
				continue
			}
			j := in.judgement(r, OfQueue, q.Subject(), labels)
			if why != "" {
				out = append(out, j.Unjudged(HealthError, why))
				continue
			}
			j.Evidence = []string{shared(q)}
			out = append(out, measure(q, r, j).withDown(q.Down, []string{"broker"}))
		}
		return out
	}
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
	if why := usable(q.Depth); why != "" {
		return j.Unjudged(HealthNoData, "dead letters unknown: "+why)
	}
	fresh, beside := max(0, q.Depth.Low-float64(q.Acknowledged)), ""
	if q.Acknowledged > 0 {
		beside = fmt.Sprintf(" beside %s acknowledged", Number(float64(q.Acknowledged)))
	}
	return j.judged(r, Figured(fresh, "dead letter")+beside, fresh)
}

func sharedInflow(q *dedup.SharedQueue, r Rule, j Judgement) Judgement {
	return j.hourly(q.Inflow, r, "dead letter")
}
