package collector

import (
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// deadLetterQueueDrops finds dead-letter queues that lose what they keep. What such a queue passes on to another is not lost.
func deadLetterQueueDrops(q *dedup.Queue) []dedup.Finding {
	if q.Type == "stream" || deadLetterRoute(q).set {
		return nil
	}
	tier, full, reasons := dedup.Warning, false, []string(nil)
	if length, ok := lowestSetting(q, "max-length"); ok {
		full = q.Ready != nil && *q.Ready >= length
		reasons = append(reasons, lossAtBound(q, "of "+counted(length, "message"))...)
	}
	if bytes, ok := lowestSetting(q, "max-length-bytes"); ok {
		reasons = append(reasons, lossAtBound(q, "of "+counted(bytes, "byte"))...)
	}
	if full && len(reasons) > 0 {
		tier = dedup.Severe
		reasons = append(reasons, "it is full now")
	}
	if ttl, ok := lowestSetting(q, "message-ttl"); ok {
		reasons = append(reasons, fmt.Sprintf("each message is deleted after %s", span(time.Duration(min(ttl, maxMillis))*time.Millisecond)))
	}
	if idle, ok := lowestSetting(q, "expires"); ok {
		reasons = append(reasons, fmt.Sprintf("the queue itself is deleted after %s without use", span(time.Duration(min(idle, maxMillis))*time.Millisecond)))
	}
	if len(reasons) == 0 {
		return nil
	}
	text := "Dead-letter queue %s does not keep what it gets: messages in it can be lost"
	if full {
		text = "Dead-letter queue %s is full: each new dead letter costs one"
	}
	return []dedup.Finding{{
		Kind: "dead_letter_queue_drops", Tier: tier,
		Text: fmt.Sprintf(text, name(q.Name)), Evidence: capitalised(strings.Join(reasons, "; ")) + ".",
		Mend: "Take the bound away from the queue's policy, or let it pass on what it drops to another queue (dead-letter-exchange). Look at the messages before they are gone; looking itself can push some out of a full queue.",
	}}
}

// maxMillis bounds a time to live, so that it fits a duration.
const maxMillis = int64(1<<63-1) / int64(time.Millisecond)

// lossAtBound says what a bound of a dead-letter queue costs. A quorum queue ignores it for dead letters where it would refuse.
func lossAtBound(q *dedup.Queue, bound string) []string {
	switch refuses := strings.HasPrefix(overflow(q), "reject-publish"); {
	case refuses && q.Type == "quorum":
		return nil
	case refuses:
		return []string{fmt.Sprintf("at the bound %s a new dead letter is lost without a word (overflow %s)", bound, name(overflow(q)))}
	}
	return []string{fmt.Sprintf("at the bound %s the oldest is dropped (overflow drop-head)", bound)}
}

func capitalised(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// deadLetterQueueLimit finds quorum dead-letter queues with a delivery limit: each message that is taken and given back counts
// against it, and is destroyed above it.
func deadLetterQueueLimit(q *dedup.Queue, version string) []dedup.Finding {
	limit, set, ok := deliveryLimit(q, version)
	if !ok || deadLetterRoute(q).set || (limit < 0 && major(version) >= 4) {
		return nil
	}
	f := dedup.Finding{
		Kind: "dead_letter_delivery_limit", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Looking at messages of dead-letter queue %s can destroy them: it has a delivery limit of %d", name(q.Name), limit),
		Evidence: fmt.Sprintf("A message that is taken and given back, or held by a connection that closes, counts; above %d times the broker deletes it.", limit),
		Mend:     "Take the delivery limit away from the queue. Until then neither read it in the management UI nor let a consumer nack from it.",
	}
	switch {
	case limit < 0:
		f.Evidence = fmt.Sprintf("On RabbitMQ %s a limit of %d was seen to destroy a message at its first return.", name(knownVersion(version)), limit)
	case !set:
		f.Tier = dedup.Normal
		f.Evidence = fmt.Sprintf("It is the limit that RabbitMQ %s gives every quorum queue.", name(version))
		f.Mend = "Set delivery-limit to -1 for dead-letter queues in a policy."
	}
	return []dedup.Finding{f}
}

func knownVersion(version string) string {
	if version == "" {
		return "3.10"
	}
	return version
}

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
