package finding

import "dedup-dashboard/internal/dedup"

// topologyCases are the findings about how queues are declared and joined.
func topologyCases() []findingCase {
	a, d := "a"+hostile, "d"+hostile
	base := yard{}.queue(a, "classic", "dead-letter-exchange", "", "dead-letter-routing-key", d).queue(d, "classic")
	// with changes the queue of a name.
	with := func(y yard, name string, change func(*dedup.Queue)) []dedup.Finding {
		y.queues = append([]dedup.Queue{}, y.queues...)
		for i := range y.queues {
			if y.queues[i].Name == name {
				change(&y.queues[i])
			}
		}
		return y.discover(a).Findings
	}
	policy := func(key string, value any) func(*dedup.Queue) {
		return func(q *dedup.Queue) { q.Policy = map[string]any{key: value} }
	}
	operator := func(declared any) func(*dedup.Queue) {
		return func(q *dedup.Queue) {
			q.OperatorPolicy, q.Policy = "limits"+hostile, map[string]any{"message-ttl": int64(5000)}
			if declared != nil {
				q.Arguments["x-message-ttl"] = declared
			}
		}
	}
	unchanged := func(*dedup.Queue) {}
	delay := base.queue("w"+hostile, "classic", "dead-letter-exchange", "", "dead-letter-routing-key", a, "message-ttl", int64(5000))
	ring := yard{}.queue(a, "classic", "dead-letter-exchange", "", "dead-letter-routing-key", "b").queue("b", "classic", "dead-letter-exchange", "", "dead-letter-routing-key", a)
	waits := yard{}.queue(a, "classic", "dead-letter-exchange", "", "dead-letter-routing-key", "w").queue("w", "classic", "dead-letter-exchange", "", "dead-letter-routing-key", a, "message-ttl", int64(5))
	return []findingCase{
		{"dead_letter_policy_overridden", "is a hint where the two differ", with(base, a, policy("dead-letter-exchange", "dlx")), dedup.Normal, []string{"The argument x-dead-letter-exchange of queue a<b>", `the policy "dlx"`}},
		{"dead_letter_policy_overridden", "is silent where they are alike", with(base, a, policy("dead-letter-exchange", "")), silent, nil},
		{"operator_policy_limits", "fires for a time to live that nobody declared", with(base, a, operator(nil)), dedup.Warning, []string{"of queue a<b>", "message-ttl 5000; the queue was declared without one"}},
		{"operator_policy_limits", "fires for a lower one, of a dead-letter queue too", with(base, d, operator(int64(9000))), dedup.Warning, []string{"of dead-letter queue d<b>", "declared with 9000"}},
		{"operator_policy_limits", "is silent about a limit above the declared one", with(base, a, operator(int64(1000))), silent, nil},
		{"operator_policy_limits", "is silent about a policy of the owners", with(base, a, policy("message-ttl", int64(5000))), silent, nil},
		{"message_ttl_zero", "fires", with(base, a, policy("message-ttl", int64(0))), dedup.Warning, []string{"live for 0 ms"}},
		{"message_ttl_zero", "is silent about any other", with(base, a, policy("message-ttl", int64(1))), silent, nil},
		{"dead_letter_queue_volatile", "fires for auto-delete", with(base, d, func(q *dedup.Queue) { q.AutoDelete = true }), dedup.Warning, []string{"Dead-letter queue d<b>", "auto-delete"}},
		{"dead_letter_queue_volatile", "fires for one that is not durable", with(base, d, func(q *dedup.Queue) { q.Durable = false }), dedup.Warning, []string{"does not survive a restart"}},
		{"dead_letter_queue_volatile", "fires for an exclusive one", with(base, d, func(q *dedup.Queue) { q.Exclusive = true }), dedup.Warning, []string{"exclusive"}},
		{"dead_letter_queue_volatile", "is silent about a durable one", with(base, d, unchanged), silent, nil},
		{"dead_letter_queue_bound", "fires for the exchange of a source", base.exchange("in", "direct", "k", a, "k", d).discover(a).Findings, dedup.Warning, []string{"bound to exchange in, which feeds queue a<b>"}},
		{"dead_letter_queue_bound", "is silent about keys that no message shares", base.exchange("in", "direct", "k", a, "other", d).discover(a).Findings, silent, nil},
		{"dead_letter_loop", "fires for a queue that leads to itself", yard{}.queue(a, "classic", "dead-letter-exchange", "", "dead-letter-routing-key", a).discover(a).Findings, dedup.Warning, []string{"leads to queue a<b>"}},
		{"dead_letter_loop", "fires for a ring of source queues", ring.discover("b", a).Findings, dedup.Warning, []string{"over other source queues"}},
		{"dead_letter_loop", "is silent where messages wait on the way", waits.discover(a).Findings, silent, nil},
		{"delay_queue_feeds", "is a hint", delay.discover(a).Findings, dedup.Normal, []string{"enter queue a<b>", "out of queue w<b>", "they wait for 5 s"}},
		{"delay_queue_feeds", "is silent about a delay that dead letters reach", waits.discover(a).Findings, silent, nil},
	}
}
