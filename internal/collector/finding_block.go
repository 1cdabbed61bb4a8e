package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// The longest time over which messages are seen to go round, and the steps in which they must do so all along.
const (
	loopSpan = 5 * time.Minute
	loopStep = time.Minute
)

// A loopSample is what tells whether messages go round.
type loopSample struct {
	// Span is the time up to now for which redeliveries outnumbered acks in each loopStep; zero when they do not.
	Span               time.Duration
	Redeliveries, Acks float64
	// Held are the markers that messages may go round on.
	Held   []dedup.Marker
	Queues []dedup.QueueRef
	// Outage says that the store cannot be read, and since when; empty while it can.
	Outage string
}

// goingRound looks back over the newest readings of the broker step by step for as long as messages go round, but not
// beyond from.
func (p *pipeline) goingRound(held holders, from time.Time) loopSample {
	s := loopSample{Queues: p.refs}
	frames := p.frames.frames
	if len(frames) == 0 {
		return s
	}
	last := frames[len(frames)-1]
	until := last
	for i := len(frames) - 2; i >= 0 && s.Span < loopSpan; i-- {
		f := frames[i]
		if f.Gaps != last.Gaps || f.Began.Before(from) {
			break
		}
		if until.Began.Sub(f.Began) < loopStep {
			continue
		}
		if again := until.Redeliveries - f.Redeliveries; again <= loopShare*(until.Acks-f.Acks) {
			break
		}
		s.Span, s.Redeliveries, s.Acks = last.Began.Sub(f.Began), last.Redeliveries-f.Redeliveries, last.Acks-f.Acks
		until = f
	}
	s.Held = p.suspects(held, last.Began, s.Span)
	return s
}

// holders are the markers of one pass that may hold messages back; offset is the store's clock minus ours.
type holders struct {
	markers []dedup.Marker
	offset  time.Duration
}

// suspects are the holders that the messages which do not get on may wait for: those that were processing for all of a
// span up to a moment. When there are more of them than messages they are of other messages, and nobody knows which.
func (p *pipeline) suspects(held holders, at time.Time, d time.Duration) []dedup.Marker {
	if len(held.markers) == 0 || d == 0 {
		return nil
	}
	var all []dedup.Marker
	for _, m := range held.markers {
		if age := dedup.AgeOf(m, at, held.offset); age.Known && age.Span >= d {
			all = append(all, m)
		}
	}
	out := p.depths()
	if !out.ready.Known() || !out.unacked.Known() || float64(len(all)) > out.ready.Value+out.unacked.Value {
		return nil
	}
	return all
}

// loopingMessages finds messages that go round: redelivered again and again, far more often than any is acked.
func loopingMessages(s loopSample) []dedup.Finding {
	if s.Span < loopStep || !looping(s.Redeliveries, s.Acks) {
		return nil
	}
	f := dedup.Finding{
		Kind: "looping", Tier: dedup.Severe,
		Text:     fmt.Sprintf("Messages of %s are looping: they are redelivered again and again without progress", queueWords(s.Queues)),
		Evidence: fmt.Sprintf("%s and %s in %s", deliveredAgain(s.Redeliveries), counted(whole(s.Acks), "ack"), span(s.Span)),
		Mend:     "Look in the consumers' logs for work that fails and is returned to the queue. Which messages go round, and on which markers, is not known.",
	}
	if s.Acks > 0 {
		f.Text = fmt.Sprintf("Some messages of %s are looping: they are redelivered again and again while others are acked", queueWords(s.Queues))
	}
	switch {
	case s.Outage != "":
		f.Evidence += "; " + s.Outage
		f.Mend = "Bring the store back: consumers that cannot reach it return every message."
	case len(s.Held) > 0:
		f.Evidence += "; " + holding(s.Held)
		f.Mend = "Look at these markers: a message whose marker is processing comes back until its marker is cleared or expires. " +
			"Clear them only when nobody works on them. If the loop goes on, work fails and is returned: see the consumers' logs."
	}
	return []dedup.Finding{f}
}

// queueWords names one queue, or some of several.
func queueWords(refs []dedup.QueueRef) string {
	if len(refs) == 1 {
		return "queue " + names(refs)
	}
	return "the queues " + names(refs)
}

// holding names markers that may hold messages back.
func holding(held []dedup.Marker) string {
	n := int64(len(held))
	return fmt.Sprintf("%s %s been processing all that time, without an expiry or for longer than honest work takes, of %s %s",
		counted(n, "marker"), verb(n, "has", "have"), verb(n, "message", "messages"), someOf(ids(held)))
}

// blockSpan is how long nothing may be acked before a pipeline counts as blocked.
const blockSpan = time.Minute

// A headSample is what tells whether anything gets past the head of the queues.
type headSample struct {
	// Span is the time that was looked back over; zero when not that much is known.
	Span               time.Duration
	Acks, Redeliveries float64
	// Growth is the change of the depth in the span; Unacked is the larger of now and of the mean of the span.
	Growth, Ready, Unacked float64
	// Capacity is the most deliveries that all consumers together can hold; 0 when it is not known or not bounded.
	Capacity int64
	// Held are the markers that hold messages back; MaxProcessing is the longest that honest work takes, 0 when unknown.
	Held          []dedup.Marker
	MaxProcessing time.Duration
	// Outage says that the store has been unreachable for the whole span; empty when it was not.
	Outage string
}

// standstill looks for a blocked head over a minute, which is enough when messages go round, and over the longest time
// that honest work takes. It looks no further back than from; down is the outage of the store that goes on.
func (p *pipeline) standstill(held holders, from time.Time, down *outage) []dedup.Finding {
	for _, s := range []time.Duration{blockSpan, max(blockSpan, p.MaxProcessing)} {
		h := p.head(held, s, from)
		if last := len(p.frames.frames) - 1; down != nil && h.Span > 0 && !p.frames.frames[last].Began.Add(-h.Span).Before(down.from) {
			h.Outage = down.words()
		}
		if found := headBlocked(h); found != nil {
			return found
		}
	}
	return nil
}

// head looks back over the newest readings of the broker.
func (p *pipeline) head(held holders, least time.Duration, from time.Time) headSample {
	h := headSample{Capacity: p.capacity(), MaxProcessing: p.MaxProcessing}
	d, frames := p.depths(), p.frames.frames
	if len(frames) == 0 || !d.ready.Known() || !d.unacked.Known() {
		return h
	}
	last := frames[len(frames)-1]
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Blind || f.Gaps != last.Gaps || f.Began.Before(from) {
			break
		}
		if past := last.Began.Sub(f.Began); past >= least {
			h.Span, h.Acks, h.Redeliveries = past, last.Acks-f.Acks, last.Redeliveries-f.Redeliveries
			h.Growth, h.Ready, h.Unacked = last.Depth-f.Depth, d.ready.Value, d.unacked.Value
			if n := last.Held.Count - f.Held.Count; n > 0 {
				h.Unacked = max(h.Unacked, (last.Held.Sum-f.Held.Sum)/n)
			}
			h.Held = p.suspects(held, last.Began, past)
			break
		}
	}
	return h
}

// capacity is the most deliveries that the consumers can hold; 0 when it is not known, or when one of them has no bound.
func (p *pipeline) capacity() int64 {
	consumers := p.sourceConsumers()
	if n, known := sumOver(p.broker.queues, p.refs, func(q *dedup.Queue) *int64 { return q.Consumers }); !known || n != int64(len(consumers)) {
		return 0
	}
	var sum int64
	for _, c := range consumers {
		if !c.AckRequired || c.Prefetch <= 0 {
			return 0
		}
		sum += c.Prefetch
	}
	return sum
}

// loopShare is how many redeliveries to an ack are more than restarts of consumers make.
const loopShare = 3

// looping reports whether redeliveries outnumber acks so far that messages must be going round.
func looping(redeliveries, acks float64) bool { return redeliveries > loopShare*acks+10 }

// headBlocked finds a pipeline that stands still: nothing is acked while messages wait, because the store is out of reach
// or because its consumers hold nothing but messages that cannot proceed. Slow work looks the same but for its
// redeliveries and its age.
func headBlocked(h headSample) []dedup.Finding {
	// full is the share of the room for unacked messages that is taken: those that are returned at once are out for a moment.
	const full = 0.8
	if h.Span == 0 || h.Acks > 0 || h.Ready <= 0 || h.Growth < 0 {
		return nil
	}
	if h.Outage != "" {
		return []dedup.Finding{{
			Kind: "head_blocked", Tier: dedup.Emergency,
			Text:     "The pipeline stands still: nothing is acked, and " + h.Outage,
			Evidence: fmt.Sprintf("no ack and %s in %s; %s waiting", deliveredAgain(h.Redeliveries), span(h.Span), counted(whole(h.Ready), "message")),
			Mend:     "Bring the store back: consumers that cannot reach it wait, or return every message. The messages stay in the queue meanwhile.",
		}}
	}
	if h.Capacity == 0 || h.Unacked < full*float64(h.Capacity) {
		return nil
	}
	overdue := h.MaxProcessing > 0 && h.Span >= h.MaxProcessing && int64(len(h.Held)) >= h.Capacity
	if !overdue && !looping(h.Redeliveries, float64(h.Capacity)) {
		return nil
	}
	f := dedup.Finding{
		Kind: "head_blocked", Tier: dedup.Emergency,
		Text: "The pipeline stands still: messages that cannot proceed fill every consumer, and none of those behind them is delivered",
		Evidence: fmt.Sprintf("no ack and %s in %s; %s waiting; the consumers together take %s, and hold them",
			deliveredAgain(h.Redeliveries), span(h.Span), counted(whole(h.Ready), "message"), grouped(h.Capacity)),
		Mend: "Look for failing work that is returned to the queue. A larger prefetch lets the messages behind pass meanwhile.",
	}
	if len(h.Held) > 0 {
		f.Evidence += "; " + holding(h.Held)
		f.Mend = "Look at the markers in the evidence, and clear those that hold messages at the head once nobody works on them. A larger prefetch lets the messages behind pass meanwhile."
	}
	return []dedup.Finding{f}
}
