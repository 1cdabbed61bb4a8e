package collector

import (
	"fmt"
	"sort"

	"dedup-dashboard/internal/dedup"
)

// A topologyIndex is the topology and queues of one broker, arranged for lookups.
type topologyIndex struct {
	queues    map[dedup.QueueRef]*dedup.Queue
	exchanges map[exchangeRef]dedup.Exchange
	// out are the bindings by source exchange, in are the keys by which queues are bound.
	out map[exchangeRef][]dedup.Binding
	in  map[dedup.QueueRef][]string
	// bound are the bindings by queue.
	bound map[dedup.QueueRef][]dedup.Binding
}

type exchangeRef struct{ vhost, name string }

func indexTopology(queues map[dedup.QueueRef]*dedup.Queue, t *dedup.Topology) *topologyIndex {
	ix := &topologyIndex{
		queues:    queues,
		exchanges: make(map[exchangeRef]dedup.Exchange, len(t.Exchanges)),
		out:       make(map[exchangeRef][]dedup.Binding),
		in:        make(map[dedup.QueueRef][]string),
		bound:     make(map[dedup.QueueRef][]dedup.Binding),
	}
	for _, e := range t.Exchanges {
		ix.exchanges[exchangeRef{e.Vhost, e.Name}] = e
	}
	for _, b := range t.Bindings {
		if b.Source == "" {
			continue // the default exchange's bindings are implied by the queues' names
		}
		from := exchangeRef{b.Vhost, b.Source}
		ix.out[from] = append(ix.out[from], b)
		if b.DestinationType == "queue" {
			q := dedup.QueueRef{Vhost: b.Vhost, Name: b.Destination}
			ix.in[q] = append(ix.in[q], b.RoutingKey)
			ix.bound[q] = append(ix.bound[q], b)
		}
	}
	return ix
}

// A deadLetterTarget is a queue that receives dead letters and how that was found.
type deadLetterTarget struct {
	dedup.QueueRef
	Found string
}

// A discovery is where the dead letters of some queues go.
type discovery struct {
	Targets  []deadLetterTarget
	Findings []dedup.Finding
	// Complete is true when every dead letter of every queue is known to end in one of the targets: no loop back, no
	// guess at a routing key, nothing dropped.
	Complete bool
}

// discover follows the dead-letter settings of the source queues: an argument beats the policy, key by key; the
// default exchange leads to the queue of the routing key's name, a direct exchange along bindings with equal keys.
// Queues that lead back to a source are delays between two attempts, not dead-letter queues.
func discover(ix *topologyIndex, sources []dedup.QueueRef) discovery {
	d := discovery{Complete: true}
	isSource := make(map[dedup.QueueRef]bool, len(sources))
	for _, s := range sources {
		isSource[s] = true
	}
	seen := make(map[dedup.QueueRef]bool)
	for _, s := range sources {
		q, ok := ix.queues[s]
		if !ok {
			d.Complete = false
			continue
		}
		route := deadLetterRoute(q)
		if !route.set {
			d.Complete = false
			continue
		}
		r := resolve(ix, q, route)
		d.Findings = append(d.Findings, r.findings...)
		d.Complete = d.Complete && r.exact
		for _, target := range r.queues {
			if isSource[target] || leadsBack(ix, target, isSource) {
				d.Complete = false
				continue
			}
			if !seen[target] {
				seen[target] = true
				d.Targets = append(d.Targets, deadLetterTarget{target, fmt.Sprintf("%s of %s", route.origin, name(s.Name))})
			}
		}
	}
	sort.Slice(d.Targets, func(i, j int) bool { return d.Targets[i].Name < d.Targets[j].Name })
	return d
}

// A route is the dead-letter setting of one queue.
type route struct {
	set      bool
	exchange string
	keySet   bool
	key      string
	origin   string
}

// deadLetterRoute reads the effective setting: argument beats policy for each key by itself. A key without an exchange
// disables dead-lettering. An empty exchange is the default exchange.
func deadLetterRoute(q *dedup.Queue) route {
	var r route
	if v, ok := q.Arguments["x-dead-letter-exchange"].(string); ok {
		r.set, r.exchange, r.origin = true, v, "argument x-dead-letter-exchange"
	} else if v, ok := q.Policy["dead-letter-exchange"].(string); ok {
		r.set, r.exchange, r.origin = true, v, "policy dead-letter-exchange"
	}
	if v, ok := q.Arguments["x-dead-letter-routing-key"].(string); ok {
		r.keySet, r.key = true, v
	} else if v, ok := q.Policy["dead-letter-routing-key"].(string); ok {
		r.keySet, r.key = true, v
	}
	return r
}

// A resolution is the queues that one setting leads to.
type resolution struct {
	queues   []dedup.QueueRef
	findings []dedup.Finding
	exact    bool
}

func resolve(ix *topologyIndex, q *dedup.Queue, r route) resolution {
	keys, exact := []string{r.key}, true
	if !r.keySet {
		// The message keeps its own keys: those by which it can have come, as far as they can be told.
		keys, exact = append(wordKeys(ix.in[q.QueueRef]), q.Name), false
	}
	res := resolution{exact: exact}
	if r.exchange == "" {
		res.byDefault(ix, q, keys, r.keySet)
		return res
	}
	w := walk{ix: ix, vhost: q.Vhost, keys: keys, visited: make(map[string]bool)}
	w.follow(r.exchange)
	switch {
	case w.missing[r.exchange]:
		res.exact = false
		res.findings = append(res.findings, exchangeMissing(q.Name, r.exchange))
		return res
	case len(w.candidates) > 0:
		res.exact = false
		res.findings = append(res.findings, pinAsked(q.Name, r.exchange, w.candidates))
	case len(w.found) == 0:
		res.exact = false
		res.findings = append(res.findings, noRoute(q.Name, r.exchange))
	}
	res.queues = w.found
	return res
}

func (res *resolution) byDefault(ix *topologyIndex, q *dedup.Queue, keys []string, keySet bool) {
	for _, key := range keys {
		target := dedup.QueueRef{Vhost: q.Vhost, Name: key}
		if _, ok := ix.queues[target]; ok {
			res.queues = append(res.queues, target)
		} else if keySet {
			res.exact = false
			res.findings = append(res.findings, targetMissing(q.Name, key))
		}
	}
}

// wordKeys returns the binding keys without wildcards.
func wordKeys(keys []string) []string {
	var out []string
	for _, k := range keys {
		if !hasWildcard(k) {
			out = append(out, k)
		}
	}
	return out
}

func hasWildcard(key string) bool {
	for i := range len(key) {
		if key[i] == '*' || key[i] == '#' {
			return true
		}
	}
	return false
}

// A walk follows exchanges with fixed routing keys.
type walk struct {
	ix         *topologyIndex
	vhost      string
	keys       []string
	visited    map[string]bool
	missing    map[string]bool
	found      []dedup.QueueRef
	candidates []dedup.QueueRef
}

// follow adds where an exchange leads: the queues of matching bindings of direct exchanges, and as mere candidates
// all queues bound to exchanges of other types. What matches nothing goes to the alternate exchange.
func (w *walk) follow(exchange string) {
	if w.visited[exchange] {
		return
	}
	w.visited[exchange] = true
	ref := exchangeRef{w.vhost, exchange}
	x, ok := w.ix.exchanges[ref]
	if !ok {
		if w.missing == nil {
			w.missing = make(map[string]bool)
		}
		w.missing[exchange] = true
		return
	}
	matched := false
	for _, b := range w.ix.out[ref] {
		if x.Type == "direct" && !w.matches(b.RoutingKey) {
			continue
		}
		matched = true
		w.take(b, x.Type == "direct")
	}
	if alternate, ok := x.Arguments["alternate-exchange"].(string); ok && !matched {
		w.follow(alternate)
	}
}

func (w *walk) take(b dedup.Binding, sure bool) {
	if b.DestinationType != "queue" {
		w.follow(b.Destination)
		return
	}
	ref := dedup.QueueRef{Vhost: w.vhost, Name: b.Destination}
	if sure {
		w.found = append(w.found, ref)
	} else {
		w.candidates = append(w.candidates, ref)
	}
}

func (w *walk) matches(key string) bool {
	for _, k := range w.keys {
		if k == key {
			return true
		}
	}
	return false
}

// leadsBack reports whether a queue's own dead letters reach a source again, in at most ten steps.
func leadsBack(ix *topologyIndex, ref dedup.QueueRef, isSource map[dedup.QueueRef]bool) bool {
	const steps = 10
	frontier, visited := []dedup.QueueRef{ref}, map[dedup.QueueRef]bool{ref: true}
	for range steps {
		var next []dedup.QueueRef
		for _, at := range frontier {
			q, ok := ix.queues[at]
			if !ok {
				continue
			}
			r := deadLetterRoute(q)
			if !r.set {
				continue
			}
			for _, target := range resolve(ix, q, r).queues {
				if isSource[target] {
					return true
				}
				if !visited[target] {
					visited[target] = true
					next = append(next, target)
				}
			}
		}
		frontier = next
	}
	return false
}
