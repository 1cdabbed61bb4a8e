package finding

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// WaitingDeadLetters finds dead letters beyond the acknowledged ones; line is nil where none is acknowledged.
func WaitingDeadLetters(depth, fresh, known int64, line *dedup.Baseline, queues []dedup.QueueRef, oldest DeadLetterAge, now time.Time) []dedup.Finding {
	beside := ""
	if line != nil && known > 0 {
		beside = fmt.Sprintf(" beside %s acknowledged by %s at %s", text.Grouped(known), text.Name(line.By), text.Clock(line.At, now))
	}
	if fresh <= 0 {
		return nil
	}
	evidence := fmt.Sprintf("%s in %s", text.Counted(depth, "message"), queueWords(queues))
	if oldest.Known {
		evidence += fmt.Sprintf("; the oldest of all has been dead for at least %s, by %s", text.Span(oldest.Age), oldest.How)
	}
	return []dedup.Finding{{
		Kind: "dead_letters_wait", Tier: dedup.Warning,
		Text:     fmt.Sprintf("%s %s%s", text.Counted(fresh, "dead letter"), text.Agree(fresh, "waits", "wait"), beside),
		Evidence: evidence + ".",
		Remedy:   "See why they died and fix that; then requeue them. Acknowledge those that are known, so that only new ones are told of.",
	}}
}

// DiscardedDeadLetters finds that the broker discards messages that die in queues without a working dead-letter exchange. The
// count is of the whole broker: it is held against a pipeline only where none but its own queues are such queues. others counts those, over
// all queues of the broker: it is asked only where messages were discarded.
func DiscardedDeadLetters(broker string, d *dedup.BrokerDeaths, unsafe []dedup.QueueRef, others func() int) []dedup.Finding {
	if d == nil || !d.Discarded.Known() || d.Discarded.Value < 1 {
		return nil
	}
	n := text.Whole(d.Discarded.Value)
	f := dedup.Finding{
		Kind: "dead_letters_discarded", Tier: dedup.Severe, Drops: len(unsafe) > 0,
		Text:     fmt.Sprintf("Broker %s discarded %s in the last %s: they died in queues without a working dead-letter exchange", text.Name(broker), text.Counted(n, "message"), text.Span(d.Discarded.Covered)),
		Evidence: fmt.Sprintf("The counter is of the whole broker and names no queue; of this pipeline %s %s nowhere to send dead letters.", queueWords(unsafe), text.Agree(int64(len(unsafe)), "has", "have")),
		Remedy:   "Set dead-letter-exchange in a policy for these queues, and bind a queue to that exchange.",
	}
	if len(unsafe) == 0 {
		f.Tier = dedup.Normal
		f.Evidence = "The counter is of the whole broker and names no queue; the queues of this pipeline have a dead-letter exchange."
		f.Remedy = "Look for queues of others without a dead-letter exchange that have a time to live, a bound or a delivery limit, as each quorum queue has since RabbitMQ 4."
	} else if n := int64(others()); n > 0 {
		f.Tier = dedup.Normal
		f.Evidence += fmt.Sprintf(" So %s %s of others: all of these messages may be theirs.", text.Agree(n, "has", "have"), text.Counted(n, "queue"))
	}
	return []dedup.Finding{f}
}
