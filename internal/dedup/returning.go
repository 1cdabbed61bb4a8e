package dedup

import (
	"fmt"
	"strings"
)

// A ReturnRisk says whether messages of a queue may be taken and given back.
type ReturnRisk struct {
	// Harmless: no message can be lost by it, as far as is known of this kind of queue in this version of the broker.
	Harmless bool
	// Why says why not; empty when harmless.
	Why string
	// Effects are what happens to the messages and to others all the same, each a sentence to be shown before it is done.
	Effects []string
	// Room is how many messages may arrive while others are held before the queue's bound drops what comes back; nil when it has no
	// bound. Never hold more than Room.
	Room *int64
}

func refuseReturn(format string, args ...any) ReturnRisk {
	return ReturnRisk{Why: fmt.Sprintf(format, args...)}
}

// Returning says whether messages of a queue may be taken and given back, as a peek does with all and a selective move with those
// that it leaves. Classic queues put them back where they were. A quorum queue counts returns against its delivery limit and destroys the
// message beyond it; so only one without a limit will do, and only on the versions on which that was tried: 3.10, where to have none takes no
// limit at all, and 4, where it takes one below 0.
func Returning(info BrokerInfo, q Queue) ReturnRisk {
	if why := untouchable(info, q); why != "" {
		return ReturnRisk{Why: why}
	}
	if q.Type == "quorum" {
		return returningToQuorum(info, q)
	}
	return returningToClassic(q)
}

// MinDeliveryLimit is the least delivery limit of a quorum queue that messages are moved out of. Every failure in mid-run gives back a
// few messages, and each return counts.
const MinDeliveryLimit = 10

// MovesWhole says whether a queue may be emptied into others, message by message: one is acked once it is confirmed elsewhere, and
// goes back only when something fails.
func MovesWhole(info BrokerInfo, q Queue) ReturnRisk {
	if why := untouchable(info, q); why != "" {
		return ReturnRisk{Why: why}
	}
	limit, limited, known := DeliveryLimit(info, q)
	if q.Type != "quorum" || known && !limited {
		return ReturnRisk{Harmless: true}
	}
	switch {
	case !known:
		return refuseReturn("its delivery limit cannot be read, and a message that comes back after a failure could be destroyed by it")
	case info.bringsCount():
		return refuseReturn("its delivery limit is %d, and on RabbitMQ %s a dead letter can be at it already, so that the first failure destroys it; "+
			"set delivery-limit to -1 by a policy", limit, info.Version)
	case limit < MinDeliveryLimit:
		return refuseReturn("its delivery limit is %d: a message that comes back after a few failures would be destroyed; raise it to %d or more, or take it off",
			limit, MinDeliveryLimit)
	case q.setting("single-active-consumer") == true:
		return refuseReturn("it has a delivery limit and a single active consumer: its messages must be taken one by one, and cannot be")
	}
	return ReturnRisk{Harmless: true, Effects: []string{fmt.Sprintf(
		"A failure in mid-run gives back what is held, which counts against the delivery limit of %d.", limit)}}
}

// untouchable says why messages cannot be taken from a queue at all; empty when they can.
func untouchable(info BrokerInfo, q Queue) string {
	major, minor, ok := info.release()
	switch {
	case !ok:
		return fmt.Sprintf("the broker's version %q is not known", info.Version)
	case major < 3 || major == 3 && minor < 8 || major > 4:
		return fmt.Sprintf("RabbitMQ %s is not known to this program", info.Version)
	case q.Type == "stream":
		return "it is a stream: reading takes nothing out of it, and there is nothing to give back"
	case q.Type != "classic" && q.Type != "quorum":
		return fmt.Sprintf("queues of type %q are not known to this program", q.Type)
	case q.Exclusive:
		return "it belongs to one connection, and no other may use it"
	}
	if q.PolicyUnknown {
		return "the broker does not tell its policy"
	}
	switch q.State {
	case "down", "stopped", "crashed", "terminated", "minority", "timeout":
		return "it is " + q.State + " and cannot serve"
	}
	return ""
}

func returningToQuorum(info BrokerInfo, q Queue) ReturnRisk {
	limit, limited, known := DeliveryLimit(info, q)
	major, minor, _ := info.release()
	switch {
	case major == 3 && minor != 10:
		return refuseReturn("it is a quorum queue on RabbitMQ %s, where a return may count against a delivery limit and destroy the message; "+
			"this was tried on 3.10 and on 4 alone", info.Version)
	case !known:
		return refuseReturn("its delivery limit cannot be read, and a return could destroy the message")
	case limited && limit < 0:
		return refuseReturn("its delivery limit is %d, which RabbitMQ %s takes as no return at all: the first one destroys the message", limit, info.Version)
	case limited && info.bringsCount():
		return refuseReturn("its delivery limit is %d: a message that comes back with a broken connection counts, and a dead letter brings the count of "+
			"the queue where it died; beyond the limit the message is destroyed. Set delivery-limit to -1 by a policy", limit)
	case limited && major >= 4:
		return refuseReturn("its delivery limit is %d: each return counts, and beyond it the message is destroyed. Set delivery-limit to -1 by a policy", limit)
	case limited:
		return refuseReturn("its delivery limit is %d: each return counts, and beyond it the message is destroyed", limit)
	case q.setting("single-active-consumer") == true:
		return refuseReturn("it is a quorum queue with a single active consumer, from which single messages cannot be taken")
	}
	if why := bounded(q); why != "" {
		return refuseReturn("it is a quorum queue that %s, and what comes back could be dropped", why)
	}
	return ReturnRisk{Harmless: true, Effects: append([]string{
		"Messages go back to the end of the queue: their order changes.",
		redeliveredEffect,
	}, sharedEffects(q)...)}
}

const redeliveredEffect = "Messages are marked as redelivered, and count as redelivered in the broker's figures."

func returningToClassic(q Queue) ReturnRisk {
	risk := ReturnRisk{Effects: []string{redeliveredEffect, "Messages go back to their place, after those that a consumer takes meanwhile."}}
	if q.setting("max-length-bytes") != nil {
		return refuseReturn("it is bounded by max-length-bytes, and how full it is is not known: messages that arrive meanwhile could push out what comes back")
	}
	if bound := q.setting("max-length"); bound != nil {
		n, ok := bound.(int64)
		if !ok || q.Ready == nil {
			return refuseReturn("it is bounded by max-length, and how full it is is not known: messages that arrive meanwhile could push out what comes back")
		}
		room := n - *q.Ready
		if room <= 0 {
			return refuseReturn("it holds %d of at most %d messages: one that arrives meanwhile pushes out one that comes back", *q.Ready, n)
		}
		risk.Room = &room
		risk.Effects = append(risk.Effects, fmt.Sprintf(
			"The queue is bounded: if more than %d messages arrive meanwhile, as many that come back are dropped.", room))
	}
	risk.Harmless = true
	risk.Effects = append(risk.Effects, sharedEffects(q)...)
	return risk
}

func sharedEffects(q Queue) []string {
	var effects []string
	if ttl := q.setting("message-ttl"); ttl != nil {
		effects = append(effects, fmt.Sprintf("Messages expire after %v ms: one that is due while it is held expires when it comes back.", ttl))
	}
	if q.setting("expires") != nil {
		effects = append(effects, "The queue deletes itself when unused; looking at it counts as use.")
	}
	if q.Type == "classic" && q.setting("single-active-consumer") == true {
		effects = append(effects, "The queue has a single active consumer; single messages are taken past it.")
	}
	switch {
	case q.Consumers == nil:
		effects = append(effects, "Whether the queue has consumers is not known; any would compete for the messages.")
	case *q.Consumers > 0:
		effects = append(effects, fmt.Sprintf("The queue has %d consumers, which compete for the messages.", *q.Consumers))
	}
	return effects
}

// bounded says what bounds the length of a queue; empty when nothing does.
func bounded(q Queue) string {
	for _, key := range []string{"max-length", "max-length-bytes"} {
		if v := q.setting(key); v != nil {
			return fmt.Sprintf("is bounded by %s %v", key, v)
		}
	}
	return ""
}

// DeliveryLimit returns the effective delivery limit of a quorum queue, from its argument and effective policy: limited is false
// when there is none, known is false when it cannot be told. A negative limit is returned where the broker takes it for one.
//
// Up to 3.13 there is none by default, and the lesser of argument and policy holds. Since 4.0 it is 20 by default; the lesser holds
// too, but the larger if one is negative, which then means none (rabbit_quorum_queue:resolve_delivery_limit).
func DeliveryLimit(info BrokerInfo, q Queue) (limit int64, limited, known bool) {
	major, _, ok := info.release()
	if !ok {
		return 0, false, false
	}
	if q.Type != "quorum" {
		return 0, false, true
	}
	argument, policy := q.Arguments["x-delivery-limit"], q.Policy["delivery-limit"]
	a, hasArgument := argument.(int64)
	p, hasPolicy := policy.(int64)
	if argument != nil && !hasArgument || policy != nil && !hasPolicy {
		return 0, false, false
	}
	switch {
	case hasArgument && hasPolicy && major >= 4 && (a < 0 || p < 0):
		limit, limited = max(a, p), true
	case hasArgument && hasPolicy:
		limit, limited = min(a, p), true
	case hasArgument:
		limit, limited = a, true
	case hasPolicy:
		limit, limited = p, true
	case major >= 4:
		limit, limited = 20, true
	}
	if major >= 4 && limit < 0 {
		return 0, false, true
	}
	return limit, limited, true
}

// setting returns what argument and effective policy say of one key without its prefix x-; nil when neither does. Of two numbers the
// lesser holds; of other values that of the policy.
func (q Queue) setting(key string) any {
	argument, policy := q.Arguments["x-"+key], q.Policy[key]
	a, isArgument := argument.(int64)
	p, isPolicy := policy.(int64)
	switch {
	case isArgument && isPolicy:
		return min(a, p)
	case policy != nil:
		return policy
	default:
		return argument
	}
}

// MayDrop says how a queue that is to keep messages could drop one; empty when it could not. Arguments and the effective policy
// count, so read them back after the queue was declared.
func MayDrop(q Queue) string {
	var ways []string
	add := func(applies bool, format string, args ...any) {
		if applies {
			ways = append(ways, fmt.Sprintf(format, args...))
		}
	}
	add(q.Messages == nil, "the broker has no statistics of it yet, without which its policy is not known")
	add(q.Type != "classic", "it is of type %q, not classic", q.Type)
	add(!q.Durable, "it does not survive a restart of the broker")
	add(q.AutoDelete, "it is deleted with its last consumer")
	add(q.Exclusive, "it is deleted with the connection that declared it")
	for _, key := range []string{"max-length", "max-length-bytes", "message-ttl", "expires", "overflow",
		"dead-letter-exchange", "dead-letter-routing-key", "dead-letter-strategy", "delivery-limit"} {
		v := q.setting(key)
		add(v != nil, "it has %s %v", key, v)
	}
	return strings.Join(ways, "; ")
}
