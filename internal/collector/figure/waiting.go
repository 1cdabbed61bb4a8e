package figure

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	waitingSource  = "timestamp of the first message, as publishers set it"
	waitingFormula = "now - timestamp of the oldest message"
	betterWaiting  = "Let publishers set the property timestamp to the time of publishing; of quorum queues and streams RabbitMQ does not tell it."
)

// OldestWaiting is the age of the oldest message in the source queues, by the clock of whoever published it.
func OldestWaiting(queues []*dedup.Queue, at time.Time) dedup.Figure {
	f := dedup.Unknown(dedup.Seconds, "no message waits")
	f.Source, f.Formula = waitingSource, waitingFormula
	var oldest time.Time
	dated, undated, first := 0, 0, ""
	for _, q := range queues {
		switch {
		case q == nil || q.Messages == nil:
			undated++
			first = "the broker does not say how many messages wait"
		case *q.Messages == 0:
		case q.HeadTimestamp == nil || q.HeadTimestamp.Unix() <= 0:
			undated++
			if first == "" {
				first = undatedWhy(q)
			}
		default:
			if dated++; oldest.IsZero() || q.HeadTimestamp.Before(oldest) {
				oldest = *q.HeadTimestamp
			}
		}
	}
	switch {
	case dated == 0 && undated > 0:
		f.Why, f.Better = first, betterWaiting
		return f
	case dated == 0:
		return f
	}
	age := at.Sub(oldest).Seconds()
	f.Quality, f.Value, f.At, f.N, f.Why = dedup.Derived, max(0, age), at, float64(dated), ""
	f.Low, f.High = f.Value, f.Value
	if age < 0 {
		f.Why = fmt.Sprintf("the publisher's clock is at least %s ahead of this one", text.Span(max(time.Second, oldest.Sub(at))))
	}
	if undated > 0 {
		f.AtLeast, f.Why, f.Better = true, text.Reasons("at least: "+first, f.Why), betterWaiting
	}
	return f
}

func undatedWhy(q *dedup.Queue) string {
	if q.Type != "classic" {
		return fmt.Sprintf("RabbitMQ does not tell the oldest message of queue %s, which is of type %s", text.Name(q.Name), text.Name(q.Type))
	}
	return fmt.Sprintf("the oldest message of queue %s carries no timestamp", text.Name(q.Name))
}
