package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// loopingMessages finds messages that go round: redelivered again and again without an ack. held are the markers that
// they may go round on.
func loopingMessages(redeliveries, acks gain, held []dedup.Marker) []dedup.Finding {
	if !redeliveries.Known || !looping(redeliveries.Delta, acks.Delta) {
		return nil
	}
	f := dedup.Finding{
		Kind: "looping", Tier: dedup.Severe,
		Text:     "Messages are looping: they are redelivered again and again without progress",
		Evidence: fmt.Sprintf("%s and %s in 5 m", deliveredAgain(redeliveries.Delta), counted(whole(acks.Delta), "ack")),
		Mend:     "Look for failing work that is returned to the queue: no overdue marker was seen.",
	}
	if len(held) > 0 {
		f.Evidence += "; " + holding(held)
		f.Mend = "Open these markers, see that nobody works on them, and clear them: their messages then go on."
	}
	return []dedup.Finding{f}
}

// holding names markers that hold messages back.
func holding(held []dedup.Marker) string {
	n := int64(len(held))
	return fmt.Sprintf("%s %s processing without an expiry or for longer than honest work takes, of %s %s",
		counted(n, "marker"), verb(n, "is", "are"), verb(n, "message", "messages"), someOf(ids(held)))
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
}

// standstill looks for a blocked head over a minute, which is enough when messages go round, and over the longest time
// that honest work takes.
func (p *pipeline) standstill(held []dedup.Marker) []dedup.Finding {
	for _, s := range []time.Duration{blockSpan, max(blockSpan, p.MaxProcessing)} {
		if found := headBlocked(p.head(held, s)); found != nil {
			return found
		}
	}
	return nil
}

// head looks back over the newest readings of the broker.
func (p *pipeline) head(held []dedup.Marker, least time.Duration) headSample {
	h := headSample{Held: held, Capacity: p.capacity(), MaxProcessing: p.MaxProcessing}
	d, frames := p.depths(), p.frames.frames
	if h.Capacity == 0 || len(frames) == 0 || !d.ready.Known() || !d.unacked.Known() {
		return h
	}
	last := frames[len(frames)-1]
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Blind || f.Gaps != last.Gaps {
			break
		}
		if past := last.Began.Sub(f.Began); past >= least {
			h.Span, h.Acks, h.Redeliveries = past, last.Acks-f.Acks, last.Redeliveries-f.Redeliveries
			h.Growth, h.Ready, h.Unacked = last.Depth-f.Depth, d.ready.Value, d.unacked.Value
			if n := last.UnackedCount - f.UnackedCount; n > 0 {
				h.Unacked = max(h.Unacked, (last.UnackedSum-f.UnackedSum)/n)
			}
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

// headBlocked finds a pipeline that stands still: its consumers hold nothing but messages that cannot proceed, and none
// of those that wait behind is delivered. Slow work looks the same but for its redeliveries and its age.
func headBlocked(h headSample) []dedup.Finding {
	// full is the share of the room for unacked messages that is taken: those that are returned at once are out for a moment.
	const full = 0.8
	if h.Span == 0 || h.Capacity == 0 || h.Acks > 0 || h.Ready <= 0 || h.Growth < 0 || h.Unacked < full*float64(h.Capacity) {
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
		f.Mend = "Clear the markers that hold the messages at the head, once nobody works on them. A larger prefetch lets the messages behind pass meanwhile."
	}
	return []dedup.Finding{f}
}
