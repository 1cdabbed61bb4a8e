package finding

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// A yard is a broker's exchanges, bindings and queues, and the source queues of a pipeline.
type yard struct {
	topology dedup.Topology
	queues   []dedup.Queue
	version  string
}

// exchange adds an exchange with bindings, written as key and queue in turn.
func (y yard) exchange(name, kind string, bindings ...string) yard {
	y.topology.Exchanges = append(slices.Clone(y.topology.Exchanges), dedup.Exchange{Vhost: "/", Name: name, Type: kind})
	for i := 0; i < len(bindings); i += 2 {
		y.topology.Bindings = append(slices.Clone(y.topology.Bindings),
			dedup.Binding{Vhost: "/", Source: name, Destination: bindings[i+1], DestinationType: "queue", RoutingKey: bindings[i]})
	}
	return y
}

// queue adds a queue of a type with arguments, written as key and value in turn.
func (y yard) queue(name, kind string, arguments ...any) yard {
	y.queues = append(slices.Clone(y.queues), queue(name, func(q *dedup.Queue) {
		q.Type, q.Arguments = kind, map[string]any{}
		for i := 0; i < len(arguments); i += 2 {
			q.Arguments["x-"+arguments[i].(string)] = arguments[i+1]
		}
	}))
	return y
}

func (y yard) discover(sources ...string) topology.Discovery {
	return y.discoverPinned(nil, sources...)
}

func (y yard) discoverPinned(pins []dedup.QueueRef, sources ...string) topology.Discovery {
	ix := topology.NewIndex(listed(y.queues...), &y.topology, y.version)
	var refs []dedup.QueueRef
	for _, s := range sources {
		refs = append(refs, ref(s))
	}
	return topology.Discover(ix, refs, pins)
}

// sent is what is found about a queue a that dead-letters to an exchange, by default with the key k.
func sent(y yard, exchange string, more ...any) []dedup.Finding {
	a := "a" + hostile
	return y.queue(a, "classic", append([]any{"dead-letter-exchange", exchange, "dead-letter-routing-key", "k"}, more...)...).discover(a).Findings
}

// deadLetterCases are the findings about where dead letters go.
func deadLetterCases() []findingCase {
	there := yard{}.queue("a.dead", "classic")
	direct := there.exchange("dlx", "direct", "k", "a.dead")
	headers := there.exchange("dlx", "headers", "", "a.dead", "", "b.dead")
	hostileKey := []any{"dead-letter-routing-key", "gone" + hostile}
	return slices.Concat([]findingCase{
		{"dead_letter_exchange_missing", "fires for an exchange that does not exist", sent(direct, "gone"+hostile), dedup.Severe, []string{"exchange gone<b>", "are being dropped", "argument x-dead-letter-exchange"}},
		{"dead_letter_exchange_missing", "says that an at-least-once queue keeps them", yard{}.queue("a", "quorum", "dead-letter-exchange", "gone", "dead-letter-strategy", "at-least-once", "overflow", "reject-publish").
			discover("a").Findings, dedup.Severe, []string{"held back in it"}},
		{"dead_letter_exchange_missing", "fires for a delay queue that leads nowhere", direct.exchange("wait", "fanout", "", "delay").queue("delay", "classic", "message-ttl", int64(9), "dead-letter-exchange", "gone").
			queue("a", "classic", "dead-letter-exchange", "wait").discover("a").Findings, dedup.Severe, []string{"queue delay"}},
		{"dead_letter_exchange_missing", "is silent about one that exists", sent(direct, "dlx"), silent, nil},

		{"dead_letter_route_missing", "fires for a key that no binding matches", sent(direct, "dlx", "dead-letter-routing-key", "other"), dedup.Severe, []string{"no binding of exchange dlx"}},
		{"dead_letter_route_missing", "fires for kept keys that no binding matches", yard{}.exchange("dlx", "direct", "k", "a.dead").queue("a", "classic", "dead-letter-exchange", "dlx").discover("a").Findings, dedup.Severe, []string{"the keys that they came with"}},
		{"dead_letter_route_missing", "fires for a queue that does not exist", sent(there, "", hostileKey...), dedup.Severe, []string{"queue gone<b>"}},
		{"dead_letter_route_missing", "is silent about a matching binding", sent(direct, "dlx"), silent, nil},

		{"dead_letter_key_alone", "fires for a key without an exchange", there.queue("a"+hostile, "classic", hostileKey...).discover("a" + hostile).Findings, dedup.Severe, []string{"key is gone<b>", "“disabled”"}},
		{"dead_letter_key_alone", "is silent about a key with one", sent(direct, "dlx"), silent, nil},

		{"dead_letter_queue_unsure", "asks for a pin behind a headers exchange", sent(headers, "dlx"), dedup.Normal, []string{"a.dead, b.dead"}},
		{"dead_letter_queue_unsure", "is silent about a topic exchange and a fixed key", sent(there.exchange("dlx", "topic", "#", "a.dead"), "dlx"), silent, nil},
		{"dead_letter_queue_unsure", "is silent once one of the queues is listed",
			headers.queue("a", "classic", "dead-letter-exchange", "dlx").discoverPinned([]dedup.QueueRef{ref("a.dead")}, "a").Findings, silent, nil},
	}, streamCases(), limitCases(), cycleCases(), deadQueueCases(), []findingCase{
		{"dead_letter_strategy_fallback", "fires for a classic queue", sent(direct, "dlx", "dead-letter-strategy", "at-least-once"), dedup.Warning, []string{"only quorum queues"}},
		{"dead_letter_strategy_fallback", "fires for drop-head", there.queue("a", "quorum", "dead-letter-exchange", "", "dead-letter-strategy", "at-least-once").discover("a").Findings, dedup.Warning, []string{"overflow behaviour is drop-head"}},
		{"dead_letter_strategy_fallback", "is silent where it takes effect", there.queue("a", "quorum", "dead-letter-exchange", "", "dead-letter-strategy", "at-least-once", "overflow", "reject-publish").discover("a").Findings, silent, nil},

		{"reject_publish_dlx", "fires for a bounded source", sent(direct, "dlx", "max-length", int64(5), "overflow", "reject-publish-dlx"), dedup.Warning, []string{"one copy per try"}},
		{"reject_publish_dlx", "is silent about reject-publish", sent(direct, "dlx", "max-length", int64(5), "overflow", "reject-publish"), silent, nil},
		{"reject_publish_dlx", "is silent without a bound", sent(direct, "dlx", "overflow", "reject-publish-dlx"), silent, nil},
	})
}

func streamCases() []findingCase {
	fan := yard{}.queue("tape"+hostile, "stream").exchange("dlx", "fanout", "", "tape"+hostile)
	both := fan.queue("a.dead", "classic").exchange("dlx", "fanout", "", "a.dead")
	today := fan
	today.version = "4.0.5"
	return []findingCase{
		{"dead_letter_stream", "is silent since RabbitMQ 4", sent(today, "dlx"), silent, nil},
		{"dead_letter_stream", "is severe where a stream is all there is", sent(fan, "dlx"), dedup.Severe, []string{"stream tape<b>", "are being dropped"}},
		{"dead_letter_stream", "is a warning beside a queue", sent(both, "dlx"), dedup.Warning, []string{"other queues do"}},
		{"dead_letter_stream", "is silent about at least once", fan.queue("a", "quorum", "dead-letter-exchange", "dlx", "dead-letter-strategy", "at-least-once", "overflow", "reject-publish").discover("a").Findings, silent, nil},
		{"dead_letter_stream", "is silent about a queue", sent(yard{}.queue("a.dead", "quorum").exchange("dlx", "fanout", "", "a.dead"), "dlx"), silent, nil},
	}
}

// limitCases are the findings about queues that delete what was delivered too often.
func limitCases() []findingCase {
	limit := func(version string, returned bool, kind string, arguments ...any) []dedup.Finding {
		q := yard{}.queue("a"+hostile, kind, arguments...).queues[0]
		return topology.LimitDiscards([]dedup.QueueRef{q.QueueRef, ref("gone")}, listed(q), version, returned)
	}
	three := []any{"delivery-limit", int64(3)}
	return []findingCase{
		{"delivery_limit_discards", "warns of the limit of every quorum queue of 4.x", limit("4.0.5", false, "quorum"), dedup.Warning, []string{"Queue a<b>", "after 21 failed deliveries", "RabbitMQ 4.0.5 gives every quorum queue"}},
		{"delivery_limit_discards", "is severe where in-flight hits are returned", limit("4.2.9", true, "quorum"), dedup.Severe, []string{"whose marker is stuck is returned"}},
		{"delivery_limit_discards", "is a warning where returns do not count", limit("4.3.6", true, "quorum"), dedup.Warning, nil},
		{"delivery_limit_discards", "fires for a limit that was set", limit("3.10.8", true, "quorum", three...), dedup.Severe, []string{"after 4 failed deliveries", "argument or policy"}},
		{"delivery_limit_discards", "fires for a limit of nothing", limit("3.10.8", false, "quorum", "delivery-limit", int64(0)), dedup.Warning, []string{"after 1 failed delivery:"}},
		{"delivery_limit_discards", "is silent about a limit with a dead-letter exchange", limit("4.0.5", true, "quorum", append(three, "dead-letter-exchange", "")...), silent, nil},
		{"delivery_limit_discards", "is silent about no limit", limit("4.0.5", true, "quorum", "delivery-limit", int64(-1)), silent, nil},
		{"delivery_limit_discards", "is silent on a broker without one by default", limit("3.13.7", true, "quorum"), silent, nil},
		{"delivery_limit_discards", "is silent about a classic queue", limit("4.0.5", true, "classic"), silent, nil},
	}
}

func cycleCases() []findingCase {
	delay := yard{}.queue("a.wait", "classic", "message-ttl", int64(1000), "dead-letter-exchange", "", "dead-letter-routing-key", "a")
	loop := func(kind, version string, more ...any) []dedup.Finding {
		y := delay.queue("a", kind, append([]any{"dead-letter-exchange", "", "dead-letter-routing-key", "a.wait"}, more...)...)
		y.version = version
		return y.discover("a").Findings
	}
	ring := yard{}.queue("x", "classic", "message-ttl", int64(9), "dead-letter-exchange", "", "dead-letter-routing-key", "y").
		queue("y", "classic", "message-ttl", int64(9), "dead-letter-exchange", "", "dead-letter-routing-key", "x").
		queue("a", "classic", "dead-letter-exchange", "", "dead-letter-routing-key", "x")
	todaysRing := ring
	todaysRing.version = "4.0.5"
	return []findingCase{
		{"dead_letter_cycle_cut", "fires for a source whose messages expire", loop("classic", "3.10.8", "message-ttl", int64(5)), dedup.Severe, []string{"A message that expires in queue a is dropped", "round a, a.wait"}},
		{"dead_letter_cycle_cut", "fires for a bounded source", loop("classic", "3.10.8", "max-length", int64(5)), dedup.Severe, []string{"pushed out of a full queue"}},
		{"dead_letter_cycle_cut", "fires for a delivery limit", loop("quorum", "3.10.8", "delivery-limit", int64(5)), dedup.Severe, []string{"reaches the delivery limit"}},
		{"dead_letter_cycle_cut", "is a warning about the limit of every quorum queue of 4.x", loop("quorum", "4.2.9"), dedup.Warning, nil},
		{"dead_letter_cycle_cut", "fires for a ring of delays without a consumer", ring.discover("a").Findings, dedup.Severe, []string{"round x, y never come out", "or go round for ever"}},
		{"dead_letter_cycle_cut", "says that a ring drops them since RabbitMQ 4", todaysRing.discover("a").Findings, dedup.Severe, []string{"dropped after one round"}},
		{"dead_letter_cycle_cut", "is silent where messages only ever get round by rejection", loop("quorum", "3.10.8"), silent, nil},
		{"dead_letter_cycle_cut", "is silent where nothing goes round", sent(yard{}.queue("k", "classic"), "", "message-ttl", int64(5)), silent, nil},
	}
}

// queues are so many queues of others.
func queues(n int) func() int { return func() int { return n } }

func deadQueueCases() []findingCase {
	dead := func(kind string, arguments ...any) *dedup.Queue {
		return &yard{}.queue("d"+hostile, kind, arguments...).queues[0]
	}
	full := dead("classic", "max-length", int64(5), "overflow", "reject-publish")
	full.Ready = ptr(5)
	length := []any{"max-length", int64(1500)}
	drops := topology.Drops
	discarded := func(n float64, unsafe ...dedup.QueueRef) []dedup.Finding {
		d := &dedup.BrokerDeaths{Discarded: dedup.Exact(dedup.Measured, dedup.Count, n, findingNow, "")}
		d.Discarded.Covered = time.Hour
		return DiscardedDeadLetters("main"+hostile, d, unsafe, queues(0))
	}
	waiting := func(depth int64, line *dedup.Baseline, oldest DeadLetterAge) []dedup.Finding {
		known := int64(0)
		if line != nil {
			known = line.Count
		}
		return WaitingDeadLetters(depth, depth-known, known, line, []dedup.QueueRef{ref("d" + hostile)}, oldest, findingNow)
	}
	return []findingCase{
		{"dead_letter_queue_drops", "fires for a bound", drops(dead("classic", length...)), dedup.Warning, []string{"bound of 1,500 messages the oldest is dropped", "queue d<b>"}},
		{"dead_letter_queue_drops", "is severe once a refusing queue is full", drops(full), dedup.Severe, []string{"is full: each new dead letter costs one", "lost without a word"}},
		{"dead_letter_queue_drops", "fires for a time to live", drops(dead("quorum", "message-ttl", int64(3_600_000))), dedup.Warning, []string{"deleted after 1 h"}},
		{"dead_letter_queue_drops", "fires for a queue that is deleted when nobody uses it", drops(dead("classic", "expires", int64(60_000))), dedup.Warning, []string{"he queue itself is deleted after 1 m"}},
		{"dead_letter_queue_drops", "is silent about a quorum queue that would refuse, which ignores the bound", drops(dead("quorum", append(length, "overflow", "reject-publish")...)), silent, nil},
		{"dead_letter_queue_drops", "is silent about a queue that passes on what it drops", drops(dead("classic", append(length, "dead-letter-exchange", "")...)), silent, nil},
		{"dead_letter_queue_drops", "is silent about a plain queue", drops(dead("classic")), silent, nil},

		{"dead_letter_delivery_limit", "fires for a limit", topology.Limits(dead("quorum", "delivery-limit", int64(2)), "3.10.8"), dedup.Warning, []string{"delivery limit of 2", "above 2 times"}},
		{"dead_letter_delivery_limit", "fires for -1 on 3.10, which is none at all", topology.Limits(dead("quorum", "delivery-limit", int64(-1)), "3.10.8"), dedup.Warning, []string{"at its first return"}},
		{"dead_letter_delivery_limit", "is a hint about the limit that 4.x gives every queue", topology.Limits(dead("quorum"), "4.2.9"), dedup.Normal, []string{"limit of 20"}},
		{"dead_letter_delivery_limit", "is silent about -1 on 4.x", topology.Limits(dead("quorum", "delivery-limit", int64(-1)), "4.2.9"), silent, nil},
		{"dead_letter_delivery_limit", "is silent about no limit", topology.Limits(dead("quorum"), "3.10.8"), silent, nil},
		{"dead_letter_delivery_limit", "is silent about a classic queue", topology.Limits(dead("classic", "delivery-limit", int64(2)), "3.10.8"), silent, nil},

		{"dead_letters_wait", "fires for one", waiting(1, nil, DeadLetterAge{true, 3 * time.Hour, "d", "its timestamp"}), dedup.Warning, []string{"1 dead letter waits", "in queue d<b>", "at least 3 h, by its timestamp"}},
		{"dead_letters_wait", "counts those beyond the acknowledged ones", waiting(1500, &dedup.Baseline{Count: 20, By: "ann" + hostile, At: findingNow}, DeadLetterAge{}), dedup.Warning, []string{"1,480 dead letters wait beside 20 acknowledged by ann<b>", "1,500 messages"}},
		{"dead_letters_wait", "is silent about acknowledged ones", waiting(20, &dedup.Baseline{Count: 20}, DeadLetterAge{}), silent, nil},
		{"dead_letters_wait", "is silent about none", waiting(0, nil, DeadLetterAge{}), silent, nil},

		{"dead_letters_discarded", "fires where a queue of the pipeline has no dead-letter exchange", discarded(3, ref("a"+hostile)), dedup.Severe, []string{"discarded 3 messages in the last 1 h", "of this pipeline queue a<b>"}},
		{"dead_letters_discarded", "is a hint where none of them has", discarded(1), dedup.Normal, []string{"names no queue"}},
		{"dead_letters_discarded", "is a hint where all may be of queues of others", DiscardedDeadLetters("main", &dedup.BrokerDeaths{Discarded: dedup.Exact(dedup.Measured, dedup.Count, 3, findingNow, "")}, []dedup.QueueRef{ref("a")}, queues(2)),
			dedup.Normal, []string{"So have 2 queues of others: all of these messages may be theirs"}},
		{"dead_letters_discarded", "is silent about none", discarded(0, ref("a")), silent, nil},
		{"dead_letters_discarded", "is silent where a node is missing", DiscardedDeadLetters("main", &dedup.BrokerDeaths{Discarded: dedup.Unknown(dedup.Count, "node gone")}, []dedup.QueueRef{ref("a")}, nil), silent, nil},
		{"dead_letters_discarded", "is silent where nobody is asked", DiscardedDeadLetters("main", nil, []dedup.QueueRef{ref("a")}, nil), silent, nil},

		{"dead_letter_queue_consumed", "is a hint for one consumer", DeadLetterConsumers(hostile, ptr(1)), dedup.Normal, []string{"1 consumer"}},
		{"dead_letter_queue_consumed", "is silent about none", DeadLetterConsumers("a.dead", ptr(0)), silent, nil},
	}
}

// TestFindingsThatDropDeadLettersSaySo looks at the findings of all cases: the words and the mark agree.
func TestFindingsThatDropDeadLettersSaySo(t *testing.T) {
	marked := map[string]bool{}
	for _, c := range findingCases() {
		for _, f := range c.found {
			words := false
			for _, w := range []string{"are being dropped", "is dropped when its dead letter", "they are dropped after one round", "; of this pipeline queue"} {
				words = words || strings.Contains(f.Text+f.Evidence, w)
			}
			if f.Drops != words {
				t.Errorf("%s %s: marked %v: %s", c.kind, c.name, f.Drops, f.Text)
			}
			if f.Drops {
				marked[f.Kind] = true
			}
		}
	}
	for _, kind := range []string{"dead_letter_exchange_missing", "dead_letter_route_missing", "dead_letter_key_alone", "dead_letter_stream", "dead_letter_cycle_cut", "dead_letters_discarded"} {
		if !marked[kind] {
			t.Errorf("no case of %s drops anything", kind)
		}
	}
}
