package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// desertedLeast is how long a queue must have been seen without consumers: a deployment takes some seconds.
	desertedLeast = 30 * time.Second
	// getsRecent is how long after a basic.get somebody is taken to come back for the rest.
	getsRecent = 10 * time.Minute
)

// A desertion follows a queue without consumers from one reading of the broker to the next.
type desertion struct {
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

// observe takes a reading of the queue; nil for a queue that is not listed. A stream keeps what was read, so that its
// messages wait for nobody.
func (d *desertion) observe(q *dedup.Queue, at time.Time) {
	was := *d
	*d = desertion{gets: was.gets, got: was.got}
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

// noConsumers finds a queue that nobody consumes: severe while messages wait in it. One that is read by basic.get has no
// consumers by design.
func noConsumers(queue string, d desertion) []dedup.Finding {
	if d.since.IsZero() || d.pulled || (!d.got.IsZero() && d.seen.Sub(d.got) < getsRecent) {
		return nil
	}
	switch {
	case !d.waiting.IsZero() && d.seen.Sub(d.waiting) >= desertedLeast:
		return []dedup.Finding{{
			Kind: "no_consumers", Tier: dedup.Severe,
			Text:     fmt.Sprintf("Nobody consumes queue %s, %s waiting", name(queue), grouped(d.ready)),
			Evidence: fmt.Sprintf("no consumer and messages waiting in every reading since %s, for %s", d.waiting.UTC().Format("15:04:05 MST"), span(d.seen.Sub(d.waiting))),
			Mend:     "Start the consumers, or see in their logs why they left: a crash, a refused connection, a consumer timeout. The messages wait in the queue.",
		}}
	case d.waiting.IsZero() && d.seen.Sub(d.since) >= desertedLeast:
		return []dedup.Finding{{
			Kind: "no_consumers", Tier: dedup.Normal,
			Text:     fmt.Sprintf("Nobody consumes queue %s; nothing waits in it", name(queue)),
			Evidence: "no consumer in any reading since " + d.since.UTC().Format("15:04:05 MST"),
			Mend:     "Start the consumers, unless they are meant to be away.",
		}}
	}
	return nil
}

// noteDesertion follows the source queues of a fresh reading.
func (p *pipeline) noteDesertion(s *brokerReading) {
	if late(&s.BrokerSample) {
		return
	}
	for _, ref := range p.refs {
		d := p.deserted[ref]
		d.observe(p.broker.queues[ref], s.At)
		p.deserted[ref] = d
	}
}

// The span over which a backlog must grow, and the steps in each of which it must: a burst that drains in between is none.
const (
	growthSpan = 10 * time.Minute
	growthStep = 2 * time.Minute
)

// A backlogSample is what tells whether the backlog grows. Lowest are the fewest waiting messages in each growthStep of
// growthSpan, oldest first; nil when not that much is known.
type backlogSample struct {
	Lowest []float64
	Ready  float64
	Acks   float64
	Queues []dedup.QueueRef
}

// backlog looks back over the newest readings.
func (p *pipeline) backlog() backlogSample {
	const steps = int(growthSpan / growthStep)
	s, frames := backlogSample{Queues: p.refs}, p.frames.frames
	if len(frames) == 0 {
		return s
	}
	last := frames[len(frames)-1]
	lowest := make([]float64, 0, steps)
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		past := last.Began.Sub(f.Began)
		if f.Blind || f.Gaps != last.Gaps {
			return s
		}
		if step := int(past / growthStep); step < steps && step >= len(lowest) {
			lowest = append(lowest, f.Depth-f.Unacked)
		}
		n := len(lowest) - 1
		lowest[n] = min(lowest[n], f.Depth-f.Unacked)
		if past >= growthSpan {
			s.Ready, s.Acks = last.Depth-last.Unacked, last.Acks-f.Acks
			break
		}
	}
	if len(lowest) == steps && last.Began.Sub(frames[0].Began) >= growthSpan {
		for i := steps - 1; i >= 0; i-- {
			s.Lowest = append(s.Lowest, lowest[i])
		}
	}
	return s
}

// backlogGrowing finds a backlog that grows all the time, and that takes long to work off even if nothing more came.
func backlogGrowing(s backlogSample) []dedup.Finding {
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
		Text: fmt.Sprintf("The backlog of %s grows: %s waiting, and nothing is acked", queueWords(s.Queues), counted(whole(s.Ready), "message")),
		Evidence: fmt.Sprintf("the fewest that waited in each %s of the last %s rose from %s to %s; %s in that time",
			span(growthStep), span(growthSpan), grouped(whole(s.Lowest[0])), grouped(whole(s.Lowest[len(s.Lowest)-1])), counted(whole(s.Acks), "ack")),
		Mend: "See why the consumers are slow: their store, their work, their number. More consumers or a larger prefetch help only where the work itself is not the limit.",
	}
	if s.Acks > 0 {
		drain := time.Duration(min(s.Ready/s.Acks*float64(growthSpan), float64(longest)))
		if drain < long {
			return nil
		}
		if drain < tooLong {
			f.Tier = dedup.Normal
		}
		f.Text = fmt.Sprintf("The backlog of %s grows: %s waiting, which is %s of work at the present pace even if nothing more came",
			queueWords(s.Queues), counted(whole(s.Ready), "message"), span(drain.Round(time.Minute)))
	}
	return []dedup.Finding{f}
}

// backlogFindings are the queues that nobody works off, or not fast enough. What is said of a queue without consumers
// need not be said of its backlog again.
func (p *pipeline) backlogFindings() []dedup.Finding {
	var out []dedup.Finding
	for _, ref := range p.refs {
		out = append(out, noConsumers(ref.Name, p.deserted[ref])...)
	}
	if len(out) > 0 {
		return out
	}
	return backlogGrowing(p.backlog())
}
