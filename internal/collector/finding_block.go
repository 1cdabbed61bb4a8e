package collector

import (
	"fmt"
	"slices"
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
		Mend:     "Look for failing work that is returned to the queue: no marker is known to hold a message back.",
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
	// Growth is the change of the depth in the span.
	Growth, Ready, Unacked float64
	// Capacity is the most deliveries that all consumers together can hold; 0 when it is not known or not bounded.
	Capacity int64
	Held     []dedup.Marker
}

// head looks back over the newest readings of the broker.
func (p *pipeline) head(held []dedup.Marker) headSample {
	h := headSample{Held: held, Capacity: p.capacity()}
	d, frames := p.depths(), p.frames.frames
	if len(frames) == 0 || !d.ready.Known() || !d.unacked.Known() {
		return h
	}
	last := frames[len(frames)-1]
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Blind || f.Gaps != last.Gaps {
			break
		}
		if span := last.Began.Sub(f.Began); span >= blockSpan {
			h.Span, h.Acks, h.Redeliveries = span, last.Acks-f.Acks, last.Redeliveries-f.Redeliveries
			h.Growth, h.Ready, h.Unacked = last.Depth-f.Depth, d.ready.Value, d.unacked.Value
			// Messages that are returned at once are unacked most of the time, and not at each reading.
			if n := last.UnackedCount - f.UnackedCount; n > 0 {
				const most = 1.2
				h.Unacked = max(h.Unacked, most*(last.UnackedSum-f.UnackedSum)/n)
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
	if slices.ContainsFunc(consumers, func(c dedup.Consumer) bool { return !c.AckRequired || c.Prefetch <= 0 }) {
		return 0
	}
	var sum int64
	for _, c := range consumers {
		sum += c.Prefetch
	}
	return sum
}

// headBlocked finds a pipeline that stands still: its consumers hold nothing but messages that cannot proceed, and none
// of those that wait behind is delivered. Slow work looks the same but for its redeliveries and its age.
func headBlocked(h headSample) []dedup.Finding {
	if h.Span == 0 || h.Capacity == 0 || h.Acks > 0 || h.Ready <= 0 || h.Growth < 0 || h.Unacked < float64(h.Capacity) {
		return nil
	}
	round := looping(h.Redeliveries, float64(h.Capacity))
	if !round && int64(len(h.Held)) < h.Capacity {
		return nil
	}
	evidence := fmt.Sprintf("no ack and %s in %s, %s waiting, room for %s unacked in all consumers together and none free",
		deliveredAgain(h.Redeliveries), span(h.Span), counted(whole(h.Ready), "message"), grouped(h.Capacity))
	if len(h.Held) > 0 {
		evidence += "; " + holding(h.Held)
	}
	return []dedup.Finding{{
		Kind: "head_blocked", Tier: dedup.Emergency,
		Text:     "The pipeline stands still: messages that cannot proceed fill every consumer, and none of those behind them is delivered",
		Evidence: evidence,
		Mend:     "Clear the markers that hold the messages at the head, once nobody works on them. A larger prefetch lets the messages behind pass meanwhile.",
	}}
}
