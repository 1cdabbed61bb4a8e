package finding

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// listed are queues by name, as a broker lists them.
func listed(queues ...dedup.Queue) map[dedup.QueueRef]*dedup.Queue {
	all := map[dedup.QueueRef]*dedup.Queue{}
	for i := range queues {
		all[queues[i].QueueRef] = &queues[i]
	}
	return all
}

func withArguments(name string, arguments map[string]any) dedup.Queue {
	return queue(name, func(q *dedup.Queue) { q.Arguments = arguments })
}

// counts is a sample that lists some queues of a total.
func counts(listed int, total *int64, problems ...dedup.Problem) *dedup.BrokerSample {
	return &dedup.BrokerSample{Queues: make([]dedup.Queue, listed), QueuesTotal: total, Problems: problems}
}

// The fix is the one that the broker's client worked out, which names the vhost and the user and gives no right to read.
func TestTheMendOfHiddenQueuesIsThatOfTheBroker(t *testing.T) {
	got := HiddenQueues("main", counts(3, ptr(5), dedup.Problem{Kind: "stats_late", Remedy: "wait"},
		dedup.Problem{Kind: "permission_missing", Remedy: "show a"}, dedup.Problem{Kind: "permission_missing", Remedy: "show b"}))
	if len(got) != 1 || got[0].Remedy != "show a; show b" {
		t.Errorf("found %+v, want the fixes of both vhosts", got)
	}
}

// queueCases are the findings about source queues and their consumers.
func queueCases() []findingCase {
	a, b := "a"+hostile, "b"+hostile
	dead := map[string]any{"x-dead-letter-exchange": "dlx"}
	routeless := func(q dedup.Queue, pinned bool) []dedup.Finding {
		return topology.NoExchange([]dedup.QueueRef{ref(a)}, listed(q), pinned)
	}
	// bound are two queues that share a store, bound to one exchange of a type.
	bound := func(kind, left, right string) []dedup.Finding {
		bind := func(to, key string) dedup.Binding {
			return dedup.Binding{Vhost: "/", Source: "events" + hostile, Destination: to, DestinationType: "queue", RoutingKey: key}
		}
		ix := topology.NewIndex(nil, &dedup.Topology{Exchanges: []dedup.Exchange{{Vhost: "/", Name: "events" + hostile, Type: kind}}, Bindings: []dedup.Binding{bind(a, left), bind(b, right)}}, "")
		return topology.FanOut("orders", ix, []dedup.QueueRef{ref(a)}, []dedup.QueueRef{ref(a), ref(b)})
	}
	hidden := func(listed int, total *int64) []dedup.Finding {
		return HiddenQueues(hostile, counts(listed, total, dedup.Problem{Kind: "permission_missing", Remedy: "run: show " + hostile}))
	}
	unknown := func(q *dedup.Queue) { q.PolicyUnknown = true }
	fields := func(bad ...string) []dedup.Finding { return ReportUnreadable("orders", bad) }
	return []findingCase{
		{"queue_missing", "fires for a queue that is not listed", MissingQueues([]dedup.QueueRef{ref(a)}, listed(), hostile), dedup.Severe, []string{"not found on broker"}},
		{"queue_missing", "is silent about one that is", MissingQueues([]dedup.QueueRef{ref("a")}, listed(queue("a", nil)), "main"), silent, nil},

		{"queue_hidden", "fires when more are counted than listed", hidden(3, ptr(5)), dedup.Warning, []string{"hides 2 of its 5 queues"}},
		{"queue_hidden", "is silent when all are listed", hidden(5, ptr(5)), silent, nil},
		{"queue_hidden", "is silent when the broker does not count", hidden(5, nil), silent, nil},
		{"queue_hidden", "is silent about a queue that was deleted between count and list", HiddenQueues("main", counts(3, ptr(5))), silent, nil},

		{"auto_ack_consumers", "fires for one of two consumers", AutoAckConsumers([]dedup.Consumer{{AckRequired: true}, {}}), dedup.Warning, []string{"1 of 2 consumers"}},
		{"auto_ack_consumers", "is silent about manual acks", AutoAckConsumers([]dedup.Consumer{{AckRequired: true}}), silent, nil},

		{"dead_letter_exchange_none", "fires for a queue without one", routeless(queue(a, nil), false), dedup.Warning, []string{"Queue a<b>"}},
		{"dead_letter_exchange_none", "is a hint where dead-letter queues are listed", routeless(queue(a, nil), true), dedup.Normal, []string{"filled by the consumers"}},
		{"dead_letter_exchange_none", "is silent about an argument", routeless(withArguments(a, dead), false), silent, nil},
		{"dead_letter_exchange_none", "is silent about a policy", routeless(queue(a, func(q *dedup.Queue) { q.Policy = map[string]any{"dead-letter-exchange": ""} }), false), silent, nil},
		{"dead_letter_exchange_none", "is silent about a queue of unknown policy", routeless(queue(a, unknown), false), silent, nil},
		{"dead_letter_exchange_none", "is silent about a stream", routeless(queue(a, func(q *dedup.Queue) { q.Type = "stream" }), false), silent, nil},

		{"queue_policy_unknown", "is a hint", topology.PolicyUnknown([]dedup.QueueRef{ref(a), ref("gone")}, listed(queue(a, unknown))), dedup.Normal, []string{"queue a<b>", "where its dead letters go is not known"}},
		{"queue_policy_unknown", "is silent about a queue of known policy", topology.PolicyUnknown([]dedup.QueueRef{ref(a)}, listed(queue(a, nil))), silent, nil},

		{"fan_out_shared_store", "fires for two queues of a fanout exchange", bound("fanout", "", "x"), dedup.Warning, []string{"share store orders", "exchange events<b>"}},
		{"fan_out_shared_store", "fires for equal keys of a direct exchange", bound("direct", "k", "k"), dedup.Warning, nil},
		{"fan_out_shared_store", "fires for patterns that one key matches", bound("topic", "order.*", "#.paid"), dedup.Warning, nil},
		{"fan_out_shared_store", "is silent about different keys", bound("direct", "k", "other"), silent, nil},
		{"fan_out_shared_store", "is silent about patterns that no key matches both", bound("topic", "order.*", "*.*.paid"), silent, nil},
		{"fan_out_shared_store", "is silent about an exchange whose routing is its own", bound("x-consistent-hash", "1", "1"), silent, nil},

		{"reported_latency_unreadable", "fires for a field", fields("ack_le_" + hostile), dedup.Warning, []string{"1 latency field"}},
		{"reported_latency_unreadable", "is silent about none", fields(), silent, nil},
	}
}

// blockCases are the findings about messages that do not get on.
func blockCases() []findingCase {
	held := []dedup.Marker{forever(dedup.Processing, time.Minute), {ID: "m2"}}
	loop := func(redeliveries, acks float64, held []dedup.Marker, outage ...string) []dedup.Finding {
		s := Loop{Span: LoopSpan, Redeliveries: redeliveries, Acks: acks, Held: held, Queues: []dedup.QueueRef{ref("a" + hostile)}}
		if len(outage) > 0 {
			s.Outage = outage[0]
		}
		return LoopingMessages(s)
	}
	// blocked are two consumers of prefetch 1 that hold two messages going round, with ten behind.
	blocked := func(change func(*Head)) []dedup.Finding {
		h := Head{Span: time.Minute, Redeliveries: 4000, Ready: 10, Unacked: 1.9, Capacity: 2, Held: held, MaxProcessing: 5 * time.Minute}
		change(&h)
		return HeadBlocked(h)
	}
	slow := func(h *Head) { h.Redeliveries = 0 }
	return []findingCase{
		{"looping", "fires and names the marker", loop(500, 3, held), dedup.Severe, []string{"500 redeliveries and 3 acks in 5 m", "2 markers have been processing all that time", "m1<b>\uFFFD", "m2", "queue a<b>", "while others are acked"}},
		{"looping", "fires without a marker to name", loop(500, 0, nil), dedup.Severe, []string{"without progress"}},
		{"looping", "names the outage of the store", loop(500, 0, nil, "store orders cannot be read since 03:12:00 UTC"), dedup.Severe, []string{"store orders cannot be read since 03:12:00 UTC"}},
		{"looping", "is silent before a minute has passed", LoopingMessages(Loop{Redeliveries: 500}), silent, nil},
		{"looping", "is silent about redeliveries beside many acks", loop(500, 400, held), silent, nil},
		{"looping", "is silent about the redeliveries of one restart", loop(10, 0, held), silent, nil},

		{"head_blocked", "fires for messages that go round", blocked(func(*Head) {}), dedup.Emergency, []string{"4,000 redeliveries in 1 m; 10 messages waiting", "m1<b>\uFFFD", "m2"}},
		{"head_blocked", "fires for failing work that is returned", blocked(func(h *Head) { h.Held = nil }), dedup.Emergency, nil},
		{"head_blocked", "fires for overdue markers once nothing was acked for longer than processing takes", blocked(func(h *Head) { slow(h); h.Span = 5 * time.Minute }), dedup.Emergency, nil},
		{"head_blocked", "fires when nothing is acked while the store is out of reach", blocked(func(h *Head) {
			slow(h)
			h.Capacity, h.Unacked, h.Outage = 0, 0, "store orders cannot be read since 03:12:00 UTC"
		}), dedup.Emergency, []string{"nothing is acked, and store orders cannot be read since"}},
		{"head_blocked", "is silent while something is acked without the store", blocked(func(h *Head) { h.Acks, h.Outage = 1, "store orders cannot be read" }), silent, nil},
		{"head_blocked", "is silent about slow work", blocked(slow), silent, nil},
		{"head_blocked", "is silent about slow work beside one overdue marker", blocked(func(h *Head) { slow(h); h.Span, h.Held = 5*time.Minute, held[:1] }), silent, nil},
		{"head_blocked", "is silent while something is acked", blocked(func(h *Head) { h.Acks = 1 }), silent, nil},
		{"head_blocked", "is silent when nobody waits", blocked(func(h *Head) { h.Ready = 0 }), silent, nil},
		{"head_blocked", "is silent while the queue empties into dead letters", blocked(func(h *Head) { h.Growth = -5 }), silent, nil},
		{"head_blocked", "is silent while a consumer has room", blocked(func(h *Head) { h.Unacked = 1 }), silent, nil},
		{"head_blocked", "is silent about consumers without a bound", blocked(func(h *Head) { h.Capacity = 0 }), silent, nil},
		{"head_blocked", "is silent about the redeliveries of a restart", blocked(func(h *Head) { h.Capacity, h.Unacked, h.Redeliveries, h.Held = 50, 50, 150, nil }), silent, nil},
	}
}

// recoveryCases are the findings about outages that have ended.
func recoveryCases() []findingCase {
	after := func(d, lasted time.Duration) []dedup.Finding {
		until := findingNow.Add(-d)
		return Recovering("store orders"+hostile, lasted, until, dedup.Exact(dedup.Measured, dedup.Count, 6669, findingNow, ""), findingNow)
	}
	const long = 5*time.Minute + 36*time.Second
	return []findingCase{
		{"recovering", "is a hint in the first minutes", after(time.Minute, long), dedup.Normal, []string{"Recovering: store orders", "was unreachable for 5 m 36 s until 11:59:00 UTC; 6,669 messages waiting"}},
		{"recovering", "says so when nobody knows how many wait", Recovering("store a", time.Hour, findingNow, dedup.Figure{}, findingNow), dedup.Normal, []string{"how many messages wait is not known"}},
		{"recovering", "is silent after five minutes", after(5*time.Minute, long), silent, nil},
		{"recovering", "is silent about no outage", Recovering("", 0, time.Time{}, dedup.Figure{}, findingNow), silent, nil},
	}
}
