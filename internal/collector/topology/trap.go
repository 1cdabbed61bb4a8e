package topology

import (
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// traps are the hazards of how the queues of a pipeline are declared and joined, beside where their dead letters go.
func (g *graph) traps() []dedup.Finding {
	var out []dedup.Finding
	for _, s := range g.sources {
		q := g.ix.queues[s]
		if q == nil {
			continue
		}
		out = slices.Concat(out, policyOverridden(q), operatorLimits(q, "queue"), expiresAtOnce(q), g.loops(s), g.fedBy(s))
	}
	for _, t := range g.order {
		q := g.ix.queues[t]
		if g.isSource(t) || g.role(t) != dedup.RouteDeadLetter {
			continue
		}
		out = slices.Concat(out, operatorLimits(q, "dead-letter queue"), volatileDeadLetters(q), g.alsoBusiness(t))
	}
	return out
}

// policyOverridden finds an argument that hides the dead-letter exchange or key of a policy.
func policyOverridden(q *dedup.Queue) []dedup.Finding {
	for _, key := range []string{"dead-letter-exchange", "dead-letter-routing-key"} {
		argument, inArguments := q.Arguments["x-"+key].(string)
		policy, inPolicy := q.Policy[key].(string)
		if !inArguments || !inPolicy || argument == policy {
			continue
		}
		return []dedup.Finding{{
			Kind: "dead_letter_policy_overridden", Tier: dedup.Normal,
			Text:     fmt.Sprintf("The argument x-%s of queue %s overrides a policy: whoever changes the policy changes nothing", key, text.Name(q.Name)),
			Evidence: fmt.Sprintf("The argument says %q, the policy %q; the broker goes by the argument.", text.Plain(argument, 120), text.Plain(policy, 120)),
			Remedy:   "Declare the queue anew without the argument, or take the key out of the policy, so that one of them says where dead letters go.",
		}}
	}
	return nil
}

// operatorLimits finds limits that an operator policy gives a queue: none that its owners declared, or lower ones.
func operatorLimits(q *dedup.Queue, what string) []dedup.Finding {
	if q.OperatorPolicy == "" {
		return nil
	}
	for _, key := range []string{"message-ttl", "max-length", "max-length-bytes", "expires"} {
		policy, inPolicy := wholeNumber(q.Policy[key])
		argument, inArguments := wholeNumber(q.Arguments["x-"+key])
		if !inPolicy || inArguments && argument <= policy {
			continue
		}
		evidence := fmt.Sprintf("Operator policy %s governs it, and its policies come to %s %d; the queue was declared without one.", text.Name(q.OperatorPolicy), key, policy)
		if inArguments {
			evidence = fmt.Sprintf("Operator policy %s governs it, and its policies come to %s %d; the queue was declared with %d.", text.Name(q.OperatorPolicy), key, policy, argument)
		}
		return []dedup.Finding{{
			Kind: "operator_policy_limits", Tier: dedup.Warning,
			Text:     fmt.Sprintf("An operator policy lets messages of %s %s go that its declaration keeps: %s", what, text.Name(q.Name), key),
			Evidence: evidence,
			Remedy:   "Ask whoever runs the broker for a higher limit on this queue (rabbitmqctl list_operator_policies), or plan for messages that expire or are pushed out.",
		}}
	}
	return nil
}

// expiresAtOnce finds a time to live of 0: what no consumer is ready to take dies at once.
func expiresAtOnce(q *dedup.Queue) []dedup.Finding {
	if ttl, ok := lowestSetting(q, "message-ttl"); !ok || ttl != 0 || q.Type == "stream" {
		return nil
	}
	return []dedup.Finding{{
		Kind: "message_ttl_zero", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Messages in queue %s live for 0 ms: what no consumer is ready to take dies at once", text.Name(q.Name)),
		Evidence: "message-ttl is 0 by argument or policy. A restart of the consumers, or a prefetch that is full, turns every message into a dead letter of the reason expired.",
		Remedy:   "Give it a time to live that outlasts a restart of the consumers, or take it away.",
	}}
}

// volatileDeadLetters finds a dead-letter queue that goes away by itself, with all that is in it.
func volatileDeadLetters(q *dedup.Queue) []dedup.Finding {
	why, remedy := "", "Declare it durable, and neither auto-delete nor exclusive."
	switch {
	case q.AutoDelete:
		why = "it is deleted with its last consumer (auto-delete): whoever only looks at it by a consumer deletes it"
	case q.Exclusive:
		why = "it is deleted with the connection that declared it (exclusive)"
	case !q.Durable && q.Type == "classic":
		why = "it does not survive a restart of the broker (not durable)"
	default:
		return nil
	}
	return []dedup.Finding{{
		Kind: "dead_letter_queue_volatile", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Dead-letter queue %s goes away by itself, with every dead letter in it", text.Name(q.Name)),
		Evidence: text.Capitalised(why) + ".", Remedy: remedy,
	}}
}

// alsoBusiness finds a dead-letter queue that gets copies of messages that never died, as it is bound to the exchange of a source queue.
func (g *graph) alsoBusiness(target dedup.QueueRef) []dedup.Finding {
	var dead []string
	for _, r := range g.routings {
		dead = append(dead, r.exchange)
	}
	for _, s := range g.sources {
		if exchange, ok := g.ix.copies(s, target, dead...); ok {
			return []dedup.Finding{{
				Kind: "dead_letter_queue_bound", Tier: dedup.Warning,
				Text:     fmt.Sprintf("Dead-letter queue %s also gets messages that never died: it is bound to exchange %s, which feeds queue %s", text.Name(target.Name), text.Name(exchange), text.Name(s.Name)),
				Evidence: "Both bindings match the same messages. Such a copy has no death history, counts as a dead letter, and runs again when it is requeued.",
				Remedy:   "Take the binding away, or give the copies a queue of their own.",
			}}
		}
	}
	return nil
}

// loops finds a source queue whose rejected messages come back to it at once: over itself, or over source queues alone.
func (g *graph) loops(source dedup.QueueRef) []dedup.Finding {
	round := g.reach(source, g.isSource)
	if !round[source] {
		return nil
	}
	for _, before := range g.sources[:slices.Index(g.sources, source)] {
		if round[before] && g.reach(before, g.isSource)[source] {
			return nil // it is told of there
		}
	}
	f := dedup.Finding{
		Kind: "dead_letter_loop", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Dead letters of queue %s come back to it at once: a message that is always rejected goes round for ever, as fast as the consumers can", text.Name(source.Name)),
		Evidence: fmt.Sprintf("Its dead-letter exchange leads to queue %s itself. What expires there, or is pushed out, the broker drops instead.", text.Name(source.Name)),
		Remedy:   "Send dead letters to a queue without consumers, or over a delay queue with a time to live, and give up after some tries.",
	}
	if !slices.ContainsFunc(g.routings[source].ways, func(w way) bool { return w.target == source }) {
		f.Evidence = "The way leads over other source queues of the pipeline, and none of them lets the message wait."
	}
	return []dedup.Finding{f}
}

// feeders are the queues that no dead letter of the pipeline reaches, and whose own dead letters enter a source queue.
func (g *graph) feeders(source dedup.QueueRef) []*dedup.Queue {
	var out []*dedup.Queue
	for _, ref := range g.ix.Feeders(source) {
		if _, passed := g.routings[ref]; !passed {
			out = append(out, g.ix.queues[ref])
		}
	}
	return out
}

// fedBy finds queues whose dead letters enter a source queue: consumers publish there what is to be tried again later.
func (g *graph) fedBy(source dedup.QueueRef) []dedup.Finding {
	var from []dedup.QueueRef
	evidence := ""
	for _, q := range g.feeders(source) {
		from = append(from, q.QueueRef)
		if ttl, ok := lowestSetting(q, "message-ttl"); ok && evidence == "" {
			evidence = fmt.Sprintf(" In %s they wait for %s.", text.Name(q.Name), text.Span(time.Duration(min(ttl, maxMillis))*time.Millisecond))
		}
	}
	if len(from) == 0 {
		return nil
	}
	return []dedup.Finding{{
		Kind: "delay_queue_feeds", Tier: dedup.Normal,
		Text:     fmt.Sprintf("Messages enter queue %s out of %s, which no dead letter of the pipeline reaches", text.Name(source.Name), text.Agree(len(from), "queue ", "the queues ")+text.Names(dedup.QueueNames(from))),
		Evidence: "The dead-letter exchange there leads into the source queue: consumers or others publish there what is to come later." + evidence + " What waits there is in no figure of the pipeline.",
		Remedy:   "Look there too when messages are missing. Where it is a queue of retries, check that something counts the tries.",
	}}
}

// feedRows are the ways out of such queues, for the table.
func (g *graph) feedRows() []dedup.DeadLetterRoute {
	var rows []dedup.DeadLetterRoute
	for _, s := range g.sources {
		for _, q := range g.feeders(s) {
			r := g.ix.routeOf(q)
			for _, w := range r.ways {
				if w.target == s {
					rows = append(rows, dedup.DeadLetterRoute{Source: q.QueueRef, Exchange: r.exchange, RoutingKey: r.key, KeyKept: !r.keySet, Origin: r.origin,
						Target: s, Role: dedup.RouteSource, Certain: w.fit == always, Note: "comes in from outside: no dead letter of the pipeline reaches that queue"})
				}
			}
		}
	}
	return rows
}
