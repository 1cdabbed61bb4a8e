package topology

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// NoExchange finds source queues whose rejected, expired and surplus messages vanish. listed says that the
// configuration names dead-letter queues: then the consumers may move the messages there themselves.
func NoExchange(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue, listed bool) []dedup.Finding {
	var without []dedup.QueueRef
	for _, ref := range refs {
		if q := queues[ref]; q != nil && q.Type != "stream" && !q.PolicyUnknown && !deadLetterRoute(q).set && !deadLetterRoute(q).keySet {
			without = append(without, ref)
		}
	}
	n := int64(len(without))
	if n == 0 {
		return nil
	}
	f := dedup.Finding{
		Kind: "dead_letter_exchange_none", Tier: dedup.Warning,
		Text: fmt.Sprintf("%s %s %s no dead-letter exchange: a message that is rejected or expires is lost",
			text.Agree(n, "Queue", "Queues"), text.Names(dedup.QueueNames(without)), text.Agree(n, "has", "have")),
		Evidence: "Neither the arguments nor the policy name one.",
		Remedy:   "Set dead-letter-exchange in a policy, and bind a queue to that exchange.",
	}
	if listed {
		f.Tier = dedup.Normal
		f.Evidence = "Neither the arguments nor the policy name one; the dead-letter queues in the configuration may be filled by the consumers."
	}
	return []dedup.Finding{f}
}

// PolicyUnknown finds source queues of which the broker does not tell the policy: where their dead letters go, and what bounds them, is not
// known then.
func PolicyUnknown(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue) []dedup.Finding {
	var unknown []dedup.QueueRef
	for _, ref := range refs {
		if q := queues[ref]; q != nil && q.PolicyUnknown {
			unknown = append(unknown, ref)
		}
	}
	n := int64(len(unknown))
	if n == 0 {
		return nil
	}
	return []dedup.Finding{{
		Kind: "queue_policy_unknown", Tier: dedup.Normal,
		Text: fmt.Sprintf("The broker does not tell the %s of %s %s: where %s dead letters go is not known", text.Agree(n, "policy", "policies"),
			text.Agree(n, "queue", "queues"), text.Names(dedup.QueueNames(unknown)), text.Agree(n, "its", "their")),
		Evidence: "A queue has no statistics when it was just declared, or while statistics are disabled on the broker. Its policies are read from the lists of policies then, unless they cannot be read, or two of them fit alike.",
		Remedy:   "List the dead-letter queues in dead_letter_queues of the pipeline.",
	}}
}

// LimitDiscards finds source queues that delete a message for good once it was delivered often enough: quorum queues with a delivery limit
// and without a dead-letter exchange. returned says that consumers return a message whose marker is in flight: one that is stuck then uses
// the limit up. Since 4.3 what a consumer returns does not count.
func LimitDiscards(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue, version string, returned bool) []dedup.Finding {
	var out []dedup.Finding
	for _, ref := range refs {
		q := queues[ref]
		if q == nil {
			continue
		}
		limit, set, ok := deliveryLimit(q, version)
		if !ok || limit < 0 || deadLetterRoute(q).set || q.PolicyUnknown {
			continue
		}
		f := dedup.Finding{
			Kind: "delivery_limit_discards", Tier: dedup.Warning,
			Text: fmt.Sprintf("Queue %s deletes a message for good after %d failed %s: it has a delivery limit of %d and no dead-letter exchange",
				text.Name(q.Name), limit+1, text.Agree(limit+1, "delivery", "deliveries"), limit),
			Evidence: "Its argument or policy sets the limit.",
			Remedy:   "Set dead-letter-exchange in a policy, and bind a queue to that exchange. Without one, set delivery-limit to -1.",
		}
		if !set {
			f.Evidence = fmt.Sprintf("It is the limit that RabbitMQ %s gives every quorum queue.", text.Name(version))
		}
		if returned && !(dedup.BrokerInfo{Version: version}).ReturnsUncounted() {
			f.Tier = dedup.Severe
			f.Evidence += " A message whose marker is stuck is returned each time, and gets there soon."
		}
		out = append(out, f)
	}
	return out
}
