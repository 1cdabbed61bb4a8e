package topology

import (
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// Drops finds dead-letter queues that lose what they keep. What such a queue passes on to another is not lost.
func Drops(q *dedup.Queue) []dedup.Finding {
	if q.Type == "stream" || deadLetterRoute(q).set {
		return nil
	}
	tier, full, reasons := dedup.Warning, false, []string(nil)
	if length, ok := lowestSetting(q, "max-length"); ok {
		full = q.Ready != nil && *q.Ready >= length
		reasons = append(reasons, lossAtBound(q, "of "+text.Counted(length, "message"))...)
	}
	if bytes, ok := lowestSetting(q, "max-length-bytes"); ok {
		reasons = append(reasons, lossAtBound(q, "of "+text.Counted(bytes, "byte"))...)
	}
	if full && len(reasons) > 0 {
		tier = dedup.Severe
		reasons = append(reasons, "it is full now")
	}
	if ttl, ok := lowestSetting(q, "message-ttl"); ok {
		reasons = append(reasons, fmt.Sprintf("each message is deleted after %s", text.Span(time.Duration(min(ttl, maxMillis))*time.Millisecond)))
	}
	if idle, ok := lowestSetting(q, "expires"); ok {
		reasons = append(reasons, fmt.Sprintf("the queue itself is deleted after %s without use", text.Span(time.Duration(min(idle, maxMillis))*time.Millisecond)))
	}
	if len(reasons) == 0 {
		return nil
	}
	says := "Dead-letter queue %s does not keep what it gets: messages in it can be lost"
	if full {
		says = "Dead-letter queue %s is full: each new dead letter costs one"
	}
	return []dedup.Finding{{
		Kind: "dead_letter_queue_drops", Tier: tier,
		Text: fmt.Sprintf(says, text.Name(q.Name)), Evidence: text.Capitalised(strings.Join(reasons, "; ")) + ".",
		Remedy: "Take the bound away from the queue's policy, or let it pass on what it drops to another queue (dead-letter-exchange). Look at the messages before they are gone; looking itself can push some out of a full queue.",
	}}
}

// maxMillis bounds a time to live, so that it fits a duration.
const maxMillis = int64(1<<63-1) / int64(time.Millisecond)

// lossAtBound says what a bound of a dead-letter queue costs. A quorum queue ignores it for dead letters where it would refuse.
func lossAtBound(q *dedup.Queue, bound string) []string {
	switch refuses := strings.HasPrefix(Overflow(q), "reject-publish"); {
	case refuses && q.Type == "quorum":
		return nil
	case refuses:
		return []string{fmt.Sprintf("at the bound %s a new dead letter is lost without a word (overflow %s)", bound, text.Name(Overflow(q)))}
	}
	return []string{fmt.Sprintf("at the bound %s the oldest is dropped (overflow drop-head)", bound)}
}

// Limits finds quorum dead-letter queues with a delivery limit: each message that is taken and given back counts
// against it, and is destroyed above it.
func Limits(q *dedup.Queue, version string) []dedup.Finding {
	broker := dedup.BrokerInfo{Version: version}
	limit, set, ok := deliveryLimit(q, version)
	if !ok || deadLetterRoute(q).set || (limit < 0 && broker.Since(4, 0)) {
		return nil
	}
	f := dedup.Finding{
		Kind: "dead_letter_delivery_limit", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Looking at messages of dead-letter queue %s can destroy them: it has a delivery limit of %d", text.Name(q.Name), limit),
		Evidence: fmt.Sprintf("A message that is taken and given back, or held by a connection that closes, counts; above %d times the broker deletes it.", limit),
		Remedy:   "Take the delivery limit away from the queue. Until then neither read it in the management UI nor let a consumer nack from it.",
	}
	if broker.ReturnsUncounted() {
		f.Evidence = fmt.Sprintf("A message that was held by a connection that closes counts, and a dead letter brings the count of the queue where it died; above %d the broker deletes it when it comes back.", limit)
	}
	switch {
	case limit < 0:
		f.Evidence = fmt.Sprintf("On RabbitMQ %s a limit of %d was seen to destroy a message at its first return.", text.Name(knownVersion(version)), limit)
	case !set:
		f.Tier = dedup.Normal
		f.Evidence = fmt.Sprintf("It is the limit that RabbitMQ %s gives every quorum queue. ", text.Name(version)) + f.Evidence
		f.Remedy = "Set delivery-limit to -1 for dead-letter queues in a policy."
	}
	return []dedup.Finding{f}
}

func knownVersion(version string) string {
	if version == "" {
		return "3.10"
	}
	return version
}
