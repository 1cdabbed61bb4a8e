package topology

import (
	"dedup-dashboard/internal/dedup"
)

// An Index is the topology and queues of one broker, arranged for lookups.
type Index struct {
	queues    map[dedup.QueueRef]*dedup.Queue
	exchanges map[exchangeRef]dedup.Exchange
	// out are the bindings by source exchange, bound those by queue.
	out   map[exchangeRef][]dedup.Binding
	bound map[dedup.QueueRef][]dedup.Binding
	// version is the broker's, empty when not known.
	version string
	// fed are the queues that messages which died elsewhere may enter, with those elsewheres; nil until somebody asks.
	fed map[dedup.QueueRef][]dedup.QueueRef
}

type exchangeRef struct{ vhost, name string }

// NewIndex arranges what a broker of a version, empty when not known, has.
func NewIndex(queues map[dedup.QueueRef]*dedup.Queue, t *dedup.Topology, version string) *Index {
	ix := &Index{
		version:   version,
		queues:    queues,
		exchanges: make(map[exchangeRef]dedup.Exchange, len(t.Exchanges)),
		out:       make(map[exchangeRef][]dedup.Binding),
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
			ix.bound[q] = append(ix.bound[q], b)
		}
	}
	return ix
}

// HasExchange reports whether an exchange exists. The default exchange always does.
func (ix *Index) HasExchange(vhost, name string) bool {
	_, ok := ix.exchanges[exchangeRef{vhost, name}]
	return ok || name == ""
}

// Discards reports whether what dies in a queue is discarded: it has no dead-letter exchange, or one that does not exist. Without an index every
// exchange is taken to exist.
func (ix *Index) Discards(q *dedup.Queue) bool {
	if q == nil || q.Type == "stream" || q.PolicyUnknown {
		return false
	}
	r := deadLetterRoute(q)
	missing := ix != nil && r.set && !ix.HasExchange(q.Vhost, r.exchange)
	return !r.set || missing && !r.kept
}

// keysInto is what can be known of the routing keys of the messages in a queue: the keys of its bindings, and its own name
// for those that come by the default exchange. A binding of an exchange that does not route by the key tells nothing, so that
// any key is possible.
func (ix *Index) keysInto(q dedup.QueueRef) []keyPattern {
	const most = 50
	seen := map[keyPattern]bool{}
	keys := []keyPattern{{text: q.Name}}
	for _, b := range ix.bound[q] {
		key := keyPattern{text: b.RoutingKey}
		switch ix.exchanges[exchangeRef{b.Vhost, b.Source}].Type {
		case "direct":
		case "topic":
			key.pattern = hasWildcard(key.text)
		default:
			key = anyKey()
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		if keys = append(keys, key); len(keys) > most || key == anyKey() {
			return []keyPattern{anyKey()}
		}
	}
	return keys
}

// A route is the dead-letter setting of one queue.
type route struct {
	set      bool
	exchange string
	keySet   bool
	key      string
	origin   string
	// kept: the messages stay in the queue until the targets have confirmed them (at least once).
	kept bool
}

// deadLetterRoute reads the effective setting: argument beats policy for each key by itself. A key without an exchange
// disables dead-lettering. An empty exchange is the default exchange. A stream has no dead letters.
func deadLetterRoute(q *dedup.Queue) route {
	var r route
	if q.Type == "stream" {
		return r
	}
	r.exchange, r.origin, r.set = textSetting(q, "dead-letter-exchange")
	r.key, _, r.keySet = textSetting(q, "dead-letter-routing-key")
	r.kept = r.set && atLeastOnce(q) && Overflow(q) == "reject-publish" && q.Type == "quorum"
	return r
}

// textSetting reads a setting of a queue and says where it was found: an argument beats the policy, which has the operator's
// merged in (rabbit_amqqueue_process:res_arg of RabbitMQ 3.10).
func textSetting(q *dedup.Queue, key string) (value, origin string, ok bool) {
	if v, ok := q.Arguments["x-"+key].(string); ok {
		return v, "argument x-" + key, true
	}
	if v, ok := q.Policy[key].(string); ok {
		return v, "policy " + key, true
	}
	return "", "", false
}

// lowestSetting reads a bound of a queue: of argument and policy the lower one holds (res_min of the same).
func lowestSetting(q *dedup.Queue, key string) (int64, bool) {
	argument, inArguments := wholeNumber(q.Arguments["x-"+key])
	policy, inPolicy := wholeNumber(q.Policy[key])
	switch {
	case inArguments && inPolicy:
		return min(argument, policy), true
	case inArguments:
		return argument, true
	}
	return policy, inPolicy
}

// wholeNumber reads a number of an AMQP table as the management API gives it.
func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case float64:
		return int64(n), n == float64(int64(n))
	}
	return 0, false
}

// Overflow is what a full queue does: drop-head unless it is set.
func Overflow(q *dedup.Queue) string {
	if v, _, ok := textSetting(q, "overflow"); ok {
		return v
	}
	return "drop-head"
}

func atLeastOnce(q *dedup.Queue) bool {
	v, _, _ := textSetting(q, "dead-letter-strategy")
	return v == "at-least-once"
}

// Bounded reports whether the number or size of the messages of a queue has a limit.
func Bounded(q *dedup.Queue) bool {
	_, length := lowestSetting(q, "max-length")
	_, bytes := lowestSetting(q, "max-length-bytes")
	return length || bytes
}

// LosesMessages reports whether messages can leave a queue without anybody taking them.
func LosesMessages(q *dedup.Queue) bool {
	for _, key := range []string{"message-ttl", "max-length", "max-length-bytes", "expires"} {
		if _, ok := q.Arguments["x-"+key]; ok {
			return true
		}
		if _, ok := q.Policy[key]; ok {
			return true
		}
	}
	return false
}

// deliveryLimit is the number of returns after which a quorum queue gives a message up, and whether argument or policy set it; not ok when it
// never does or that is not known.
func deliveryLimit(q *dedup.Queue, version string) (limit int64, set, ok bool) {
	limit, limited, known := dedup.DeliveryLimit(dedup.BrokerInfo{Version: version}, *q)
	set = q.Arguments["x-delivery-limit"] != nil || q.Policy["delivery-limit"] != nil
	return limit, set, known && limited && (set || !q.PolicyUnknown)
}
