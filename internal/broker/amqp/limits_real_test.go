package amqp

import (
	"fmt"
	"maps"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// A fate is how one message became a dead letter: it was returned some times by its source, a quorum queue with these arguments, and then
// rejected, or held by channels that were closed until its source gave it up.
type fate struct {
	name   string
	source amqp.Table
	closed int
	reject bool
}

func fates() []fate {
	return []fate{
		{"rejected at once", nil, 0, true},
		{"rejected after 19 closed channels", nil, 19, true},
		{"given up at a limit of 3", amqp.Table{"x-delivery-limit": int32(3)}, 4, false},
		{"rejected after 39 closed channels", amqp.Table{"x-delivery-limit": int32(40)}, 39, true},
		{"rejected after 19 closed channels and sent at least once", amqp.Table{"x-overflow": "reject-publish", "x-dead-letter-strategy": "at-least-once"}, 19, true},
	}
}

// keepsWhatMayReturn makes dead letters of every fate in queues with every limit and gives them back, as a look does and as a run that
// breaks off does: where dedup.Returning or dedup.MovesWhole calls that harmless, none may be destroyed. Elsewhere some must be, or the
// refusal is for nothing.
func (b *movingBroker) keepsWhatMayReturn(t *testing.T) {
	admin := b.admin(t)
	connection, err := amqp.Dial(b.rabbit.AMQPURL(b.rabbit.Admin()))
	must(t, err)
	defer connection.Close()
	limits := map[string]amqp.Table{"no limit of its own": nil, "limit 12": {"x-delivery-limit": int32(12)}, "limit 3": {"x-delivery-limit": int32(3)}, "limit -1": {"x-delivery-limit": int32(-1)}}
	destroyed := map[string]bool{}
	for name, arguments := range limits {
		for i, f := range fates() {
			for how, times := range map[string]int{"looked at": 30, "broken off": dedup.MinDeliveryLimit - 1} {
				dead := fmt.Sprintf("%s %s %d.dead", name, how, i)
				queue := dedup.Queue{QueueRef: declareQuorum(t, admin, dead, arguments), Type: "quorum", Arguments: map[string]any{}}
				for k, v := range arguments {
					queue.Arguments[k] = int64(v.(int32))
				}
				f.die(t, admin, connection, dead)
				kept := givesBack(t, connection, dead, times, how == "looked at")
				info := dedup.BrokerInfo{Version: b.version}
				risk := dedup.MovesWhole(info, queue)
				if how == "looked at" {
					risk = dedup.Returning(info, queue)
				}
				if risk.Harmless && !kept {
					t.Errorf("a letter %s, in a queue with %s, was destroyed when %s, and the rules call that harmless", f.name, name, how)
				}
				destroyed[name+", "+how] = destroyed[name+", "+how] || !kept || risk.Harmless
			}
		}
	}
	for what, ok := range destroyed {
		if !ok {
			t.Errorf("%s: nothing is ever destroyed there, and the rules refuse it", what)
		}
	}
}

// countsReturns takes dead letters of every fate out of a queue with a limit as a run does, and gives each back until it is destroyed. A run
// sends a message by itself that has come near the limit: where it moves anything, the count that it reads may never be below the
// queue's. It may be above: on 4.0 a letter shows the count of the queue where it died until it comes back for the first time, and is
// marked as redelivered like one that did.
func (b *movingBroker) countsReturns(t *testing.T) {
	const limit = 12
	admin := b.admin(t)
	connection, err := amqp.Dial(b.rabbit.AMQPURL(b.rabbit.Admin()))
	must(t, err)
	defer connection.Close()
	info, above := dedup.BrokerInfo{Version: b.version}, 0
	for i, f := range fates() {
		dead := declareQuorum(t, admin, fmt.Sprintf("counts %d.dead", i), amqp.Table{"x-delivery-limit": int32(limit)})
		f.die(t, admin, connection, dead.Name)
		moves := dedup.MovesWhole(info, dedup.Queue{QueueRef: dead, Type: "quorum", Arguments: map[string]any{"x-delivery-limit": int64(limit)}}).Harmless
		returns := int64(0)
		for channel, d := hold(t, connection, dead.Name, time.Second); d != nil; returns++ {
			count := message.Returns(fromDelivery(d).Headers)
			if count > returns {
				above++
			}
			if moves && (count < returns || count > returns && returns > 0) {
				t.Errorf("a letter %s came back %d times, and says %d", f.name, returns, count)
			}
			must(t, channel.Close())
			channel, d = hold(t, connection, dead.Name, time.Second)
		}
		if moves && returns < limit {
			t.Errorf("a letter %s was destroyed by return %d of %d", f.name, returns, limit)
		}
	}
	if brings := info.Since(4, 0); brings != (above > 0) {
		t.Errorf("on RabbitMQ %s letters said %d times that they came back more often than they did", b.version, above)
	}
}

func declareQuorum(t *testing.T, channel *amqp.Channel, name string, arguments amqp.Table) dedup.QueueRef {
	t.Helper()
	all := amqp.Table{"x-queue-type": "quorum"}
	maps.Copy(all, arguments)
	return declare(t, channel, name, all)
}

// die makes one message a dead letter of a queue.
func (f fate) die(t *testing.T, admin *amqp.Channel, connection *amqp.Connection, dead string) {
	t.Helper()
	arguments := amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
	maps.Copy(arguments, f.source)
	source := declareQuorum(t, admin, "source of "+dead, arguments)
	fill(t, admin, source.Name, "letter", 1)
	for range f.closed {
		channel, _ := hold(t, connection, source.Name, time.Minute)
		must(t, channel.Close())
	}
	if f.reject {
		channel, d := hold(t, connection, source.Name, time.Minute)
		must(t, d.Reject(false))
		must(t, channel.Close())
	}
	eventually(t, "the message is dead", func() bool { return depth(t, admin, dead) == 1 })
}

// givesBack takes the one message of a queue and gives it back some times, by nacks or with a channel that is closed, and reports whether the
// queue still has it.
func givesBack(t *testing.T, connection *amqp.Connection, queue string, times int, nack bool) bool {
	t.Helper()
	for range times {
		channel, d := hold(t, connection, queue, time.Second)
		if d == nil {
			return false
		}
		if nack {
			must(t, d.Nack(false, true))
		}
		must(t, channel.Close())
	}
	channel, d := hold(t, connection, queue, time.Second)
	must(t, channel.Close())
	return d != nil
}

// hold takes one message on a channel of its own; nil when none comes in time.
func hold(t *testing.T, connection *amqp.Connection, queue string, wait time.Duration) (*amqp.Channel, *amqp.Delivery) {
	t.Helper()
	channel, err := connection.Channel()
	must(t, err)
	for deadline := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		d, ok, err := channel.Get(queue, false)
		must(t, err)
		if ok {
			return channel, &d
		}
		if time.Now().After(deadline) {
			return channel, nil
		}
	}
}
