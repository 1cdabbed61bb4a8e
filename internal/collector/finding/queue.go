package finding

import (
	"fmt"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// ReportUnreadable finds latency fields of the reported counters that cannot be read; their distribution is left out.
func ReportUnreadable(pipeline string, fields []string) []dedup.Finding {
	if len(fields) == 0 {
		return nil
	}
	return []dedup.Finding{{
		Kind: "reported_latency_unreadable", Tier: dedup.Warning,
		Text:     fmt.Sprintf("%s of dedupstats:%s cannot be read, so the latency is not shown", text.Counted(int64(len(fields)), "latency field"), pipeline),
		Evidence: "Fields: " + text.SomeNames(fields),
		Remedy:   "Write whole numbers by HINCRBY, and a bucket and the sum for each delivery: docs/consumers.md.",
	}}
}

// MissingQueues finds source queues that the broker does not list.
func MissingQueues(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue, broker string) []dedup.Finding {
	var out []dedup.Finding
	for _, ref := range refs {
		if queues[ref] != nil {
			continue
		}
		out = append(out, dedup.Finding{
			Kind: "queue_missing", Tier: dedup.Severe,
			Text:     QueueNotFound(ref.Name, broker),
			Evidence: "The broker's list of queues does not hold it.",
			Remedy:   "Correct the name or the vhost in the configuration, declare the queue, or give the watching account a permission in the vhost.",
		})
	}
	return out
}

func QueueNotFound(queue, broker string) string {
	return fmt.Sprintf("Queue %s not found on broker %s, or hidden by permissions", text.Name(queue), text.Name(broker))
}

// HiddenQueues finds that the broker counts more queues than it lists because the watching account has no permission. The
// sample names what would show them; where it does not, a queue was deleted between the count and the list.
func HiddenQueues(broker string, s *dedup.BrokerSample) []dedup.Finding {
	var remedies []string
	for _, p := range s.Problems {
		if p.Kind == "permission_missing" {
			remedies = append(remedies, text.Plain(p.Remedy, 250))
		}
	}
	hidden := -int64(len(s.Queues))
	if s.QueuesTotal != nil {
		hidden += *s.QueuesTotal
	}
	if hidden <= 0 || len(remedies) == 0 {
		return nil
	}
	return []dedup.Finding{{
		Kind: "queue_hidden", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Broker %s hides %s of its %s from the watching account", text.Name(broker), text.Grouped(hidden), text.Counted(*s.QueuesTotal, "queue")),
		Evidence: "The overview counts more queues than the list shows.",
		Remedy:   strings.Join(remedies, "; "),
	}}
}

// AutoAckConsumers finds consumers that are sent messages without waiting for an ack: a crash loses what they hold.
func AutoAckConsumers(consumers []dedup.Consumer) []dedup.Finding {
	n := 0
	for _, c := range consumers {
		if !c.AckRequired {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []dedup.Finding{{
		Kind: "auto_ack_consumers", Tier: dedup.Warning,
		Text:     "Consumers take messages with automatic acks: what they hold when they crash is lost",
		Evidence: fmt.Sprintf("%s of %s", text.Grouped(int64(n)), text.Counted(int64(len(consumers)), "consumer")),
		Remedy:   "Consume with manual acks and ack after the work.",
	}}
}

// DeadLetterConsumers finds dead-letter queues that somebody consumes: their depth hides what arrived.
func DeadLetterConsumers(queue string, consumers *int64) []dedup.Finding {
	if consumers == nil || *consumers == 0 {
		return nil
	}
	return []dedup.Finding{{
		Kind: "dead_letter_queue_consumed", Tier: dedup.Normal,
		Text:     fmt.Sprintf("Dead-letter queue %s has consumers: its depth does not show how many dead letters arrived", text.Name(queue)),
		Evidence: text.Counted(*consumers, "consumer"),
		Remedy:   "Judge the inflow instead of the depth, or see what consumes it.",
	}}
}
