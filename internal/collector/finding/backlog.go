package finding

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	// DesertedLeast is how long a queue must have been seen without consumers: a deployment takes some seconds.
	DesertedLeast = 30 * time.Second
	// getsRecent is how long after a basic.get somebody is taken to come back for the rest.
	getsRecent = 10 * time.Minute
)

// A Desertion follows a queue without consumers from one reading of the broker to the next.
type Desertion struct {
	// since is the first reading without a consumer, waiting the first of those in which messages waited, seen the
	// newest; zero while there is none.
	since, waiting, seen time.Time
	ready                int64
	// gets are the messages that were ever taken by basic.get, and got is when a reading last showed more of them.
	gets int64
	got  time.Time
	// pulled: messages were taken by basic.get and none was ever delivered to a consumer.
	pulled bool
}

// Observe takes a reading of the queue; nil for a queue that is not listed. A stream keeps what was read, so that its
// messages wait for nobody.
func (d *Desertion) Observe(q *dedup.Queue, at time.Time) {
	was := *d
	*d = Desertion{gets: was.gets, got: was.got}
	if q == nil || q.Consumers == nil || q.Ready == nil || q.Unacked == nil || q.Type == "stream" {
		return
	}
	count := func(ns ...*int64) (sum int64) {
		for _, n := range ns {
			if n != nil {
				sum += *n
			}
		}
		return sum
	}
	d.gets = count(q.Counters.Get, q.Counters.GetNoAck)
	if d.gets > was.gets && !was.seen.IsZero() {
		d.got = at
	}
	d.seen, d.ready = at, *q.Ready
	d.pulled = d.gets > 0 && count(q.Counters.Deliver, q.Counters.DeliverNoAck) == 0
	if *q.Consumers > 0 || (*q.Ready == 0 && *q.Unacked > 0) {
		return
	}
	d.since = firstTime(was.since, at)
	if *q.Ready > 0 {
		d.waiting = firstTime(was.waiting, at)
	}
}

func firstTime(was, now time.Time) time.Time {
	if was.IsZero() {
		return now
	}
	return was
}

// NoConsumers finds a queue that nobody consumes: severe while messages wait in it. One that is read by basic.get has no
// consumers by design.
func NoConsumers(queue string, d Desertion) []dedup.Finding {
	if d.since.IsZero() || d.pulled || (!d.got.IsZero() && d.seen.Sub(d.got) < getsRecent) {
		return nil
	}
	switch {
	case !d.waiting.IsZero() && d.seen.Sub(d.waiting) >= DesertedLeast:
		return []dedup.Finding{{
			Kind: "no_consumers", Tier: dedup.Severe,
			Text:     fmt.Sprintf("Nobody consumes queue %s, %s waiting", text.Name(queue), text.Grouped(d.ready)),
			Evidence: fmt.Sprintf("no consumer and messages waiting in every reading since %s, for %s", d.waiting.UTC().Format("15:04:05 MST"), text.Span(d.seen.Sub(d.waiting))),
			Remedy:   "Start the consumers, or see in their logs why they left: a crash, a refused connection, a consumer timeout. The messages wait in the queue.",
		}}
	case d.waiting.IsZero() && d.seen.Sub(d.since) >= DesertedLeast:
		return []dedup.Finding{{
			Kind: "no_consumers", Tier: dedup.Normal,
			Text:     fmt.Sprintf("Nobody consumes queue %s; nothing waits in it", text.Name(queue)),
			Evidence: "no consumer in any reading since " + d.since.UTC().Format("15:04:05 MST"),
			Remedy:   "Start the consumers, unless they are meant to be away.",
		}}
	}
	return nil
}

// The span over which a backlog must grow, and the steps in each of which it must: a burst that drains in between is none.
const (
	GrowthSpan = 10 * time.Minute
	GrowthStep = 2 * time.Minute
)

// A Backlog is what tells whether the backlog grows. Lowest are the fewest waiting messages in each growthStep of
// growthSpan, oldest first; nil when not that much is known.
type Backlog struct {
	Lowest []float64
	Ready  float64
	Acks   float64
	Queues []dedup.QueueRef
}

// BacklogGrowing finds a backlog that grows all the time, and that takes long to work off even if nothing more came.
func BacklogGrowing(s Backlog) []dedup.Finding {
	const long, tooLong, longest = 10 * time.Minute, 30 * time.Minute, 10_000 * time.Hour
	if len(s.Lowest) == 0 {
		return nil
	}
	for i, n := range s.Lowest[1:] {
		if n <= s.Lowest[i] {
			return nil
		}
	}
	f := dedup.Finding{
		Kind: "backlog_growing", Tier: dedup.Warning,
		Text: fmt.Sprintf("The backlog of %s grows: %s waiting, and nothing is acked", queueWords(s.Queues), text.Counted(text.Whole(s.Ready), "message")),
		Evidence: fmt.Sprintf("the fewest that waited in each %s of the last %s rose from %s to %s; %s in that time",
			text.Span(GrowthStep), text.Span(GrowthSpan), text.Grouped(text.Whole(s.Lowest[0])), text.Grouped(text.Whole(s.Lowest[len(s.Lowest)-1])), text.Counted(text.Whole(s.Acks), "ack")),
		Remedy: "See why the consumers are slow: their store, their work, their number. More consumers or a larger prefetch help only where the work itself is not the limit.",
	}
	if s.Acks > 0 {
		drain := time.Duration(min(s.Ready/s.Acks*float64(GrowthSpan), float64(longest)))
		if drain < long {
			return nil
		}
		if drain < tooLong {
			f.Tier = dedup.Normal
		}
		f.Text = fmt.Sprintf("The backlog of %s grows: %s waiting, which is %s of work at the present pace even if nothing more came",
			queueWords(s.Queues), text.Counted(text.Whole(s.Ready), "message"), text.Span(drain.Round(time.Minute)))
	}
	return []dedup.Finding{f}
}
