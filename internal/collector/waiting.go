package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	waitingSource  = "timestamp of the first message, as publishers set it"
	waitingFormula = "now - timestamp of the oldest message"
	betterWaiting  = "Let publishers set the property timestamp to the time of publishing; of quorum queues and streams RabbitMQ does not tell it."
)

// oldestWaiting is the age of the oldest message in the source queues, by the clock of whoever published it.
func oldestWaiting(queues []*dedup.Queue, at time.Time) dedup.Figure {
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
		f.Why = fmt.Sprintf("the publisher's clock is at least %s ahead of this one", span(max(time.Second, oldest.Sub(at))))
	}
	if undated > 0 {
		f.AtLeast, f.Why, f.Better = true, joinReasons("at least: "+first, f.Why), betterWaiting
	}
	return f
}

func undatedWhy(q *dedup.Queue) string {
	if q.Type != "classic" {
		return fmt.Sprintf("RabbitMQ does not tell the oldest message of queue %s, which is of type %s", name(q.Name), name(q.Type))
	}
	return fmt.Sprintf("the oldest message of queue %s carries no timestamp", name(q.Name))
}

func (p *pipeline) oldestWaiting(v view) dedup.Figure {
	if v.brokerDown != "" {
		return dedup.Unknown(dedup.Seconds, v.brokerDown)
	}
	sample, _ := p.broker.sample.get()
	var queues []*dedup.Queue
	for _, ref := range p.refs {
		queues = append(queues, p.broker.queues[ref])
	}
	return oldestWaiting(queues, sample.At)
}

// meanRetries is the mean number of failures of the messages that have failed and are not done, as of the last pass. Of
// those that failed and are done the counter is gone, so that it says nothing of them.
func meanRetries(s markerSample, window time.Duration) dedup.Figure {
	f := dedup.Unknown(dedup.Count, s.Down)
	f.Window, f.Source, f.Formula = window, passSource, "sum of the retry counters / retry counters"
	p := s.Stats.Pass
	switch {
	case s.Down != "":
	case s.Scheme.GiveUp == 0:
		f.Why = "the scheme counts no failures"
	case p == nil:
		f.Why = "no complete pass over the store yet"
	default:
		n := float64(p.Retrying + p.GaveUp.Total() + p.UndatedGaveUp)
		if n == 0 {
			f.Why = "no message that failed is waiting to be done"
			return f
		}
		v := float64(p.RetrySum) / n
		f.Quality, f.Value, f.Low, f.High, f.N, f.At, f.Covered = dedup.Measured, v, v, v, n, p.Ended, window
		f.Why = "of messages that failed and are not done, those that were given up included, whenever they failed; a message that was done at last has left no count"
	}
	return f
}
