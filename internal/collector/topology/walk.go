package topology

import (
	"cmp"
	"slices"

	"dedup-dashboard/internal/dedup"
)

// A way is where some dead letters of one queue end.
type way struct {
	target dedup.QueueRef
	// fit is always when every dead letter goes there; keys are those with which a message surely does.
	fit  fit
	keys []string
}

// A routing is where the dead letters of one queue go.
type routing struct {
	route
	ways []way
	// missing: the dead-letter exchange does not exist; then there are no ways.
	missing bool
	// opaque is an exchange on the way whose type routes by more than the key, empty when there is none.
	opaque exchangeRef
}

// routeOf follows the dead letters of a queue through exchanges.
func (ix *Index) routeOf(q *dedup.Queue) routing {
	out := routing{route: deadLetterRoute(q)}
	if !out.set {
		return out
	}
	if _, ok := ix.exchanges[exchangeRef{q.Vhost, out.exchange}]; !ok && out.exchange != "" {
		out.missing = true
		return out
	}
	keys := []keyPattern{{text: out.key}}
	if !out.keySet {
		keys = ix.keysInto(q.QueueRef)
	}
	found := make(map[dedup.QueueRef]*way)
	reached := make(map[dedup.QueueRef]int)
	for _, key := range keys {
		w := walk{ix: ix, vhost: q.Vhost, key: key, visited: make(map[string]fit), hits: make(map[dedup.QueueRef]fit)}
		w.begin(out.exchange)
		out.opaque = cmp.Or(out.opaque, w.opaque)
		for target, f := range w.hits {
			if found[target] == nil {
				found[target] = &way{target: target, fit: perhaps}
			}
			if f == always {
				reached[target]++
				if !key.pattern {
					found[target].keys = append(found[target].keys, key.text)
				}
			}
		}
	}
	for target, w := range found {
		if reached[target] == len(keys) {
			w.fit = always
		}
		out.ways = append(out.ways, *w)
	}
	slices.SortFunc(out.ways, func(a, b way) int { return cmp.Compare(a.target.Name, b.target.Name) })
	return out
}

// Feeders are the queues whose dead letters may enter this one, in the order of their names.
func (ix *Index) Feeders(ref dedup.QueueRef) []dedup.QueueRef {
	if ix.fed == nil {
		ix.fed = make(map[dedup.QueueRef][]dedup.QueueRef)
		for _, q := range ix.queues {
			for _, w := range ix.routeOf(q).ways {
				ix.fed[w.target] = append(ix.fed[w.target], q.QueueRef)
			}
		}
		for _, all := range ix.fed {
			slices.SortFunc(all, func(a, b dedup.QueueRef) int { return cmp.Compare(a.Name, b.Name) })
		}
	}
	return ix.fed[ref]
}

// Strangers names the queues whose dead letters may come into one, other than over the sources or what these pass on: what dies in a source
// is its pipeline's, wherever it came from.
func (ix *Index) Strangers(into dedup.QueueRef, sources, passed map[dedup.QueueRef]bool) []string {
	var out []string
	seen, next := map[dedup.QueueRef]bool{into: true}, []dedup.QueueRef{into}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, from := range ix.Feeders(at) {
			switch {
			case seen[from] || sources[from]:
				continue
			case passed[from] || from == into:
				next = append(next, from)
			default:
				out = append(out, from.Name)
			}
			seen[from] = true
		}
	}
	return out
}

// A walk follows exchanges with what is known of one routing key, as rabbit_exchange:route of RabbitMQ 3.10 does.
type walk struct {
	ix      *Index
	vhost   string
	key     keyPattern
	visited map[string]fit
	hits    map[dedup.QueueRef]fit
	opaque  exchangeRef
}

// begin follows from the dead-letter exchange. The default exchange leads to the queue whose name is the key; where the key is
// not known it could be any.
func (w *walk) begin(exchange string) {
	if exchange != "" {
		w.follow(exchange, always)
		return
	}
	target := dedup.QueueRef{Vhost: w.vhost, Name: w.key.text}
	if _, ok := w.ix.queues[target]; ok && !w.key.pattern {
		w.hits[target] = always
	}
}

// follow adds where an exchange leads. What matches no binding goes to the alternate exchange.
func (w *walk) follow(exchange string, reached fit) {
	if w.visited[exchange] >= reached {
		return
	}
	w.visited[exchange] = reached
	ref := exchangeRef{w.vhost, exchange}
	x, ok := w.ix.exchanges[ref]
	if !ok {
		return
	}
	best := never
	for _, b := range w.ix.out[ref] {
		f := w.fits(x.Type, b.RoutingKey)
		best = max(best, f)
		if f = min(f, reached); f == never {
			continue
		}
		if x.Type != "direct" && x.Type != "fanout" && x.Type != "topic" {
			w.opaque = ref
		}
		if b.DestinationType != "queue" {
			w.follow(b.Destination, f)
			continue
		}
		target := dedup.QueueRef{Vhost: w.vhost, Name: b.Destination}
		w.hits[target] = max(w.hits[target], f)
	}
	if alternate, ok := alternateExchange(x); ok && best != always {
		if best == perhaps {
			reached = perhaps
		}
		w.follow(alternate, reached)
	}
}

// fits says whether a message goes along a binding of an exchange. Types other than the three that route by the key alone,
// such as headers and x-consistent-hash, decide by the message.
func (w *walk) fits(exchangeType, binding string) fit {
	switch exchangeType {
	case "direct":
		return w.key.equals(binding)
	case "topic":
		return w.key.matches(binding)
	case "fanout":
		return always
	}
	return perhaps
}

// alternateExchange is where an exchange sends what no binding matches: its argument, else its policy.
func alternateExchange(x dedup.Exchange) (string, bool) {
	if v, ok := x.Arguments["alternate-exchange"].(string); ok {
		return v, true
	}
	v, ok := x.Policy["alternate-exchange"].(string)
	return v, ok
}
