package topology

import (
	"fmt"
	"slices"

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
		Evidence: "A queue has no statistics when it was just declared, or while statistics are disabled on the broker. Its policies are read from the lists of policies then, unless they cannot be read or it cannot be told which one applies.",
		Remedy:   "List the dead-letter queues in dead_letter_queues of the pipeline.",
	}}
}

// FanOut finds queues that get copies of the same messages while their markers are in one store: the consumer that comes
// second finds the marker of the first and skips its work. sharing are all queues whose markers are in the store.
func FanOut(store string, ix *Index, own, sharing []dedup.QueueRef) []dedup.Finding {
	if ix == nil {
		return nil
	}
	for i, a := range own {
		for _, b := range sharing {
			if a == b || a.Vhost != b.Vhost || slices.Contains(own[:i], b) {
				continue
			}
			exchange, ok := ix.copies(a, b)
			if !ok {
				continue
			}
			return []dedup.Finding{{
				Kind: "fan_out_shared_store", Tier: dedup.Warning,
				Text: fmt.Sprintf("Queues %s and %s get copies of the same messages and share store %s: the consumer that comes second skips its work",
					text.Name(a.Name), text.Name(b.Name), text.Name(store)),
				Evidence: fmt.Sprintf("both are bound to exchange %s with keys that one message can match", text.Name(exchange)),
				Remedy:   "Put the name of the consumer or of the queue into the key of the marker, or give each queue a store of its own. If the ids differ by queue already, nothing is wrong.",
			}}
		}
	}
	return nil
}

// copies returns an exchange that gives two queues copies of one message, of the types whose routing is known, but none of these.
func (ix *Index) copies(a, b dedup.QueueRef, but ...string) (string, bool) {
	const most = 200 // bindings of a queue that are compared
	left, right := ix.bound[a], ix.bound[b]
	left, right = left[:min(len(left), most)], right[:min(len(right), most)]
	for _, x := range left {
		for _, y := range right {
			if x.Source != y.Source || x.Vhost != y.Vhost || slices.Contains(but, x.Source) {
				continue
			}
			switch ix.exchanges[exchangeRef{x.Vhost, x.Source}].Type {
			case "fanout":
				return x.Source, true
			case "direct":
				if x.RoutingKey == y.RoutingKey {
					return x.Source, true
				}
			case "topic":
				if patternsMeet(x.RoutingKey, y.RoutingKey) {
					return x.Source, true
				}
			}
		}
	}
	return "", false
}
