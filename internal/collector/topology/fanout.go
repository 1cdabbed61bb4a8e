package topology

import (
	"fmt"
	"slices"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

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
