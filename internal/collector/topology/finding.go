package topology

import (
	"fmt"
	"slices"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// findings are the hazards of where one queue sends its dead letters. Of a queue that is no source only those count in which
// messages die by themselves.
func (g *graph) findings(q *dedup.Queue, r routing, pinned []dedup.QueueRef) []dedup.Finding {
	source := g.isSource(q.QueueRef)
	if !source && len(automaticDeaths(q, g.ix.version)) == 0 {
		return nil
	}
	out := slices.Concat(strategyFallback(q, r), keyAlone(q, r))
	if source {
		out = append(out, rejectPublishCopies(q, r)...)
	}
	switch {
	case !r.set:
	case r.missing:
		out = append(out, exchangeMissing(q.Name, r))
	case len(r.ways) == 0 && r.exchange == "" && r.keySet:
		out = append(out, targetMissing(q.Name, r))
	case len(r.ways) == 0:
		out = append(out, noRoute(q.Name, r))
	}
	out = append(out, g.streamTargets(q, r)...)
	return append(out, g.unsure(q, r, pinned)...)
}

// dropped says what becomes of dead letters that lead nowhere.
func (r route) dropped() string {
	if r.kept {
		return "are held back in it for ever"
	}
	return "are being dropped"
}

func exchangeMissing(queue string, r routing) dedup.Finding {
	return dedup.Finding{
		Kind: "dead_letter_exchange_missing", Tier: dedup.Severe, Drops: !r.kept,
		Text:     fmt.Sprintf("Dead letters of queue %s %s: exchange %s does not exist", text.Name(queue), r.dropped(), text.Name(r.exchange)),
		Evidence: fmt.Sprintf("The exchange that the queue names (%s) is not among the broker's exchanges.", r.origin),
		Remedy:   "Declare the exchange and bind a queue to it, or correct the name in the queue's argument or policy.",
	}
}

func noRoute(queue string, r routing) dedup.Finding {
	f := dedup.Finding{
		Kind: "dead_letter_route_missing", Tier: dedup.Severe, Drops: !r.kept,
		Text:     fmt.Sprintf("Dead letters of queue %s %s: no binding of exchange %s matches their routing key", text.Name(queue), r.dropped(), text.Name(r.exchange)),
		Evidence: fmt.Sprintf("No queue is bound to the dead-letter exchange with the key %s, and no alternate exchange takes them. The broker counts them as dead-lettered all the same.", text.Name(r.key)),
		Remedy:   "Bind a queue with that routing key, or set x-dead-letter-routing-key.",
	}
	if !r.keySet {
		f.Text = fmt.Sprintf("Dead letters of queue %s %s: no binding of exchange %s matches the keys that they came with", text.Name(queue), r.dropped(), text.Name(r.exchange))
		f.Evidence = "No dead-letter routing key is set, so that each message keeps its own; no binding of the dead-letter exchange matches one of them."
	}
	return f
}

func targetMissing(queue string, r routing) dedup.Finding {
	return dedup.Finding{
		Kind: "dead_letter_route_missing", Tier: dedup.Severe, Drops: !r.kept,
		Text:     fmt.Sprintf("Dead letters of queue %s %s: queue %s was not found", text.Name(queue), r.dropped(), text.Name(r.key)),
		Evidence: "The default exchange routes to the queue whose name is the routing key, and there is none, or permissions hide it.",
		Remedy:   "Declare the queue, or correct x-dead-letter-routing-key.",
	}
}

// keyAlone finds a routing key without an exchange, which turns dead-lettering off.
func keyAlone(q *dedup.Queue, r routing) []dedup.Finding {
	if r.set || !r.keySet {
		return nil
	}
	return []dedup.Finding{{
		Kind: "dead_letter_key_alone", Tier: dedup.Severe, Drops: true,
		Text:     fmt.Sprintf("Dead letters of queue %s are being dropped: it has a dead-letter routing key and no dead-letter exchange", text.Name(q.Name)),
		Evidence: fmt.Sprintf("The key is %s. The broker counts such messages under the strategy “disabled”.", text.Name(r.key)),
		Remedy:   "Set x-dead-letter-exchange too; an empty one is the default exchange.",
	}}
}

// unsure finds queues of which it depends on each message which one gets it, unless the configuration lists one of them.
func (g *graph) unsure(q *dedup.Queue, r routing, pinned []dedup.QueueRef) []dedup.Finding {
	var candidates []dedup.QueueRef
	for _, w := range r.ways {
		if !w.guess() || g.role(w.target) != dedup.RouteDeadLetter {
			continue
		}
		if slices.Contains(pinned, w.target) {
			return nil
		}
		candidates = append(candidates, w.target)
	}
	if len(candidates) == 0 {
		return nil
	}
	return []dedup.Finding{{
		Kind: "dead_letter_queue_unsure", Tier: dedup.Normal,
		Text:     fmt.Sprintf("Dead letters of queue %s go through exchange %s, whose routing depends on each message", text.Name(q.Name), text.Name(r.exchange)),
		Evidence: "Possible dead-letter queues: " + text.Names(dedup.QueueNames(candidates)),
		Remedy:   "List the right ones under dead_letter_queues of the pipeline.",
	}}
}

// streamTargets finds streams among the targets: up to 3.x a broker delivers no dead letters there (seen on 3.10), since 4.0 it does.
func (g *graph) streamTargets(q *dedup.Queue, r routing) []dedup.Finding {
	var streams []dedup.QueueRef
	others := 0
	for _, w := range r.ways {
		if g.role(w.target) == dedup.RouteStream {
			streams = append(streams, w.target)
		} else {
			others++
		}
	}
	if len(streams) == 0 || r.kept || (dedup.BrokerInfo{Version: g.ix.version}).Since(4, 0) {
		return nil
	}
	f := dedup.Finding{
		Kind: "dead_letter_stream", Tier: dedup.Severe, Drops: true,
		Text:     fmt.Sprintf("Dead letters of queue %s are being dropped: stream %s gets none of them", text.Name(q.Name), text.Names(dedup.QueueNames(streams))),
		Evidence: "Up to RabbitMQ 3 dead letters of classic queues, and of quorum queues that send at most once, never reach a stream. The broker counts them as dead-lettered.",
		Remedy:   "Bind a classic or quorum queue to the dead-letter exchange.",
	}
	if others > 0 {
		f.Tier, f.Drops = dedup.Warning, false
		f.Text = fmt.Sprintf("Stream %s gets no dead letters of queue %s; other queues do", text.Names(dedup.QueueNames(streams)), text.Name(q.Name))
		f.Remedy = "Do not rely on the stream as a copy of the dead letters."
	}
	return []dedup.Finding{f}
}

// strategyFallback finds at-least-once dead-lettering that does not take effect: the broker falls back to at most once, and drops
// what it cannot route.
func strategyFallback(q *dedup.Queue, r routing) []dedup.Finding {
	if !r.set || !atLeastOnce(q) || r.kept {
		return nil
	}
	f := dedup.Finding{
		Kind: "dead_letter_strategy_fallback", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Queue %s asks for at-least-once dead-lettering and does not get it: a dead letter that cannot be routed is lost", text.Name(q.Name)),
		Evidence: fmt.Sprintf("The overflow behaviour is %s; only reject-publish lets the strategy take effect.", text.Name(Overflow(q))),
		Remedy:   "Set overflow to reject-publish, or take the strategy away.",
	}
	if q.Type != "quorum" {
		f.Evidence = fmt.Sprintf("The queue is of type %s; only quorum queues know the strategy.", text.Name(q.Type))
		f.Remedy = "Make it a quorum queue with overflow reject-publish, or take the strategy away."
	}
	return []dedup.Finding{f}
}

// rejectPublishCopies finds source queues that, when full, refuse a message and dead-letter a copy of it.
func rejectPublishCopies(q *dedup.Queue, r routing) []dedup.Finding {
	if Overflow(q) != "reject-publish-dlx" || !Bounded(q) || q.Type == "quorum" {
		return nil
	}
	f := dedup.Finding{
		Kind: "reject_publish_dlx", Tier: dedup.Warning,
		Text:     fmt.Sprintf("When queue %s is full, each refused message is dead-lettered too: a publisher that tries again leaves one copy per try", text.Name(q.Name)),
		Evidence: "overflow is reject-publish-dlx: the publisher gets a nack, and a copy with the reason maxlen goes to the dead-letter queue.",
		Remedy:   "Set overflow to reject-publish. Compare ids before requeuing dead letters of the reason maxlen: their publishers may have sent them again.",
	}
	if !r.set {
		f.Evidence = "overflow is reject-publish-dlx without a dead-letter exchange: the publisher gets a nack."
	}
	return []dedup.Finding{f}
}

// cycleCut finds a loop in which the broker drops messages that die in one of its queues.
func cycleCut(members []dedup.QueueRef, does, queue string, tier dedup.Tier) dedup.Finding {
	return dedup.Finding{
		Kind: "dead_letter_cycle_cut", Tier: tier, Drops: true,
		Text:     fmt.Sprintf("A message that %s in queue %s is dropped when its dead letter comes round to it again", does, text.Name(queue)),
		Evidence: fmt.Sprintf("Dead letters go round %s. The broker lets a message into a queue where it died before only if it was rejected on its way.", text.Names(dedup.QueueNames(members))),
		Remedy:   "Send what is not rejected to a dead-letter queue that leads nowhere: a policy with another dead-letter exchange, without message-ttl, max-length and delivery limit on the queue of the loop.",
	}
}

// ringCut finds a loop of queues that nobody consumes.
func (g *graph) ringCut(members []dedup.QueueRef, tier dedup.Tier) dedup.Finding {
	names := text.Names(dedup.QueueNames(members))
	f := dedup.Finding{
		Kind: "dead_letter_cycle_cut", Tier: tier, Drops: true,
		Text:     fmt.Sprintf("Dead letters that go round %s never come out: they are dropped after one round", names),
		Evidence: "The broker lets a message into a queue where it died before only if it was rejected since.",
		Remedy:   "Let the last of these queues lead to a queue without a dead-letter exchange, or back to the queue that is consumed.",
	}
	if !(dedup.BrokerInfo{Version: g.ix.version}).Since(4, 0) {
		f.Text += ", or go round for ever"
		f.Evidence = "Tried on RabbitMQ 3.10.8: what was never rejected is dropped when it comes to the first of these queues again, and what a consumer rejected before goes round without end."
	}
	return f
}
