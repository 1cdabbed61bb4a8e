package finding

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// The longest time over which messages are seen to go round, and the steps in which they must do so all along.
const (
	LoopSpan = 5 * time.Minute
	LoopStep = time.Minute
)

// A Loop is what tells whether messages go round.
type Loop struct {
	// Span is the time up to now for which redeliveries outnumbered acks in each loopStep; zero when they do not.
	Span               time.Duration
	Redeliveries, Acks float64
	// Held are the markers that messages may go round on.
	Held   []dedup.Marker
	Queues []dedup.QueueRef
	// Outage says that the store cannot be read, and since when; empty while it can.
	Outage string
}

// LoopingMessages finds messages that go round: redelivered again and again, far more often than any is acked.
func LoopingMessages(s Loop) []dedup.Finding {
	if s.Span < LoopStep || !goesRound(s.Redeliveries, s.Acks) {
		return nil
	}
	f := dedup.Finding{
		Kind: "looping", Tier: dedup.Severe,
		Text:     fmt.Sprintf("Messages of %s are looping: they are redelivered again and again without progress", queueWords(s.Queues)),
		Evidence: fmt.Sprintf("%s and %s in %s", deliveredAgain(s.Redeliveries), text.Counted(text.Whole(s.Acks), "ack"), text.Span(s.Span)),
		Remedy:   "Look in the consumers' logs for work that fails and is returned to the queue. Which messages go round, and on which markers, is not known.",
	}
	if s.Acks > 0 {
		f.Text = fmt.Sprintf("Some messages of %s are looping: they are redelivered again and again while others are acked", queueWords(s.Queues))
	}
	switch {
	case s.Outage != "":
		f.Evidence += "; " + s.Outage
		f.Remedy = "Bring the store back: consumers that cannot reach it return every message."
	case len(s.Held) > 0:
		f.Evidence += "; " + holding(s.Held)
		f.Remedy = "Look at these markers: a message whose marker is processing comes back until its marker is cleared or expires. " +
			"Clear them only when nobody works on them. If the loop goes on, work fails and is returned: see the consumers' logs."
	}
	return []dedup.Finding{f}
}

// queueWords names one queue, or some of several.
func queueWords(refs []dedup.QueueRef) string {
	if len(refs) == 1 {
		return "queue " + text.Names(dedup.QueueNames(refs))
	}
	return "the queues " + text.Names(dedup.QueueNames(refs))
}

// holding names markers that may hold messages back.
func holding(held []dedup.Marker) string {
	n := int64(len(held))
	return fmt.Sprintf("%s %s been processing all that time, without an expiry or for longer than processing takes, of %s %s",
		text.Counted(n, "marker"), text.Agree(n, "has", "have"), text.Agree(n, "message", "messages"), text.SomeNames(ids(held)))
}

// BlockSpan is how long nothing may be acked before a pipeline counts as blocked.
const BlockSpan = time.Minute

// A Head is what tells whether anything gets past the head of the queues.
type Head struct {
	// Span is the time that was looked back over; zero when not that much is known.
	Span               time.Duration
	Acks, Redeliveries float64
	// Growth is the change of the depth in the span; Unacked is the larger of now and of the mean of the span.
	Growth, Ready, Unacked float64
	// Capacity is the most deliveries that all consumers together can hold; 0 when it is not known or not bounded.
	Capacity int64
	// Held are the markers that hold messages back; MaxProcessing is the longest that processing takes, 0 when unknown.
	Held          []dedup.Marker
	MaxProcessing time.Duration
	// Outage says that the store has been unreachable for the whole span; empty when it was not.
	Outage string
}

// LoopShare is how many redeliveries to an ack are more than restarts of consumers make.
const LoopShare = 3

// goesRound reports whether redeliveries outnumber acks so far that messages must be going round.
func goesRound(redeliveries, acks float64) bool { return redeliveries > LoopShare*acks+10 }

// HeadBlocked finds a pipeline that stands still: nothing is acked while messages wait, because the store is out of reach
// or because its consumers hold nothing but messages that cannot proceed. Slow work looks the same but for its
// redeliveries and its age.
func HeadBlocked(h Head) []dedup.Finding {
	// full is the share of the room for unacked messages that is taken: those that are returned at once are out for a moment.
	const full = 0.8
	if h.Span == 0 || h.Acks > 0 || h.Ready <= 0 || h.Growth < 0 {
		return nil
	}
	if h.Outage != "" {
		return []dedup.Finding{{
			Kind: "head_blocked", Tier: dedup.Emergency,
			Text:     "The pipeline stands still: nothing is acked, and " + h.Outage,
			Evidence: fmt.Sprintf("no ack and %s in %s; %s waiting", deliveredAgain(h.Redeliveries), text.Span(h.Span), text.Counted(text.Whole(h.Ready), "message")),
			Remedy:   "Bring the store back: consumers that cannot reach it wait, or return every message. The messages stay in the queue meanwhile.",
		}}
	}
	if h.Capacity == 0 || h.Unacked < full*float64(h.Capacity) {
		return nil
	}
	overdue := h.MaxProcessing > 0 && h.Span >= h.MaxProcessing && int64(len(h.Held)) >= h.Capacity
	if !overdue && !goesRound(h.Redeliveries, float64(h.Capacity)) {
		return nil
	}
	f := dedup.Finding{
		Kind: "head_blocked", Tier: dedup.Emergency,
		Text: "The pipeline stands still: messages that cannot proceed fill every consumer, and none of those behind them is delivered",
		Evidence: fmt.Sprintf("no ack and %s in %s; %s waiting; the consumers together take %s, and hold them",
			deliveredAgain(h.Redeliveries), text.Span(h.Span), text.Counted(text.Whole(h.Ready), "message"), text.Grouped(h.Capacity)),
		Remedy: "Look for failing work that is returned to the queue. A larger prefetch lets the messages behind pass meanwhile.",
	}
	if len(h.Held) > 0 {
		f.Evidence += "; " + holding(h.Held)
		f.Remedy = "Look at the markers in the evidence, and clear those that hold messages at the head once nobody works on them. A larger prefetch lets the messages behind pass meanwhile."
	}
	return []dedup.Finding{f}
}

// deliveredAgain counts redeliveries in words.
func deliveredAgain(v float64) string {
	n := text.Whole(v)
	return text.Grouped(n) + " " + text.Agree(n, "redelivery", "redeliveries")
}
