package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// waitingDeadLetters finds dead letters beyond the acknowledged ones; line is nil where none is acknowledged.
func waitingDeadLetters(depth, fresh, known int64, line *dedup.Baseline, queues []dedup.QueueRef, oldest deadAge, now time.Time) []dedup.Finding {
	beside := ""
	if line != nil && known > 0 {
		beside = fmt.Sprintf(" beside %s acknowledged by %s at %s", grouped(known), name(line.By), clock(line.At, now))
	}
	if fresh <= 0 {
		return nil
	}
	evidence := fmt.Sprintf("%s in %s", counted(depth, "message"), queueWords(queues))
	if oldest.known {
		evidence += fmt.Sprintf("; the oldest of all has been dead for at least %s, by %s", span(oldest.age), oldest.how)
	}
	return []dedup.Finding{{
		Kind: "dead_letters_wait", Tier: dedup.Warning,
		Text:     fmt.Sprintf("%s %s%s", counted(fresh, "dead letter"), verb(fresh, "waits", "wait"), beside),
		Evidence: evidence + ".",
		Mend:     "See why they died and mend that; then requeue them. Acknowledge those that are known, so that only new ones are told of.",
	}}
}

// discardedDeadLetters finds that the broker discards messages that die in queues without a working dead-letter exchange. The
// count is of the whole broker: it is held against a pipeline only where none but its own queues are such queues. others counts those, over
// all queues of the broker: it is asked only where messages were discarded.
func discardedDeadLetters(broker string, d *dedup.BrokerDeaths, unsafe []dedup.QueueRef, others func() int) []dedup.Finding {
	if d == nil || !d.Discarded.Known() || d.Discarded.Value < 1 {
		return nil
	}
	n := whole(d.Discarded.Value)
	f := dedup.Finding{
		Kind: "dead_letters_discarded", Tier: dedup.Severe, Drops: len(unsafe) > 0,
		Text:     fmt.Sprintf("Broker %s discarded %s in the last %s: they died in queues without a working dead-letter exchange", name(broker), counted(n, "message"), span(d.Discarded.Covered)),
		Evidence: fmt.Sprintf("The counter is of the whole broker and names no queue; of this pipeline %s %s nowhere to send dead letters.", queueWords(unsafe), verb(int64(len(unsafe)), "has", "have")),
		Mend:     "Set dead-letter-exchange in a policy for these queues, and bind a queue to that exchange.",
	}
	if len(unsafe) == 0 {
		f.Tier = dedup.Normal
		f.Evidence = "The counter is of the whole broker and names no queue; the queues of this pipeline have a dead-letter exchange."
		f.Mend = "Look for queues of others with a time to live or a bound and without a dead-letter exchange."
	} else if n := int64(others()); n > 0 {
		f.Tier = dedup.Normal
		f.Evidence += fmt.Sprintf(" So %s %s of others: all of these messages may be theirs.", verb(n, "has", "have"), counted(n, "queue"))
	}
	return []dedup.Finding{f}
}
