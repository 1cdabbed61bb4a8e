package shop_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/servers/serverstest"
	"dedup-dashboard/lab/shop"
)

// TestARequeuedDeadLetterIsTheLedgersOwn sends what earlier days left back to its source, with the headers that the
// dashboard gives it and without those it leaves out, three times over: most of it succeeds, some of it fails again.
func TestARequeuedDeadLetterIsTheLedgersOwn(t *testing.T) {
	broker := shop.SharedBroker(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx := t.Context()
	store := serverstest.Redis(t)
	config := shop.DefaultConfig()
	must(t, config.Only("inventory,refunds,notifications,invoices"))
	for _, setting := range []string{"*.rate=0", "*.delay=0s", "invoices.retry-delay=1s", "notifications.message-ttl=10m", "*.failure=0", "*.lost-ack=0"} {
		must(t, config.Set(setting))
	}
	running, err := shop.Start(ctx, config, broker, store, slog.New(slog.DiscardHandler))
	must(t, err)
	connection, err := amqp.Dial(broker.AMQPURL(broker.Admin()))
	must(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must(t, err)
	truth := func(name string) shop.Truth { return running.Ledger().Truth(name) }

	seen := map[string]int{}
	for _, p := range config.Pipelines {
		inherited := truth(p.Name).Inherited
		waitUntil(t, 90*time.Second, p.Name+" has its old dead letters", func() bool {
			return inherited > 0 && depth(t, broker, p.DeadLetterQueue()) == inherited
		})
		moved := int64(0)
		for round := range 3 {
			letters := takeAll(t, channel, p.DeadLetterQueue())
			for _, letter := range letters {
				for trait, has := range traits(letter) {
					if has && round == 0 {
						seen[trait]++
					}
				}
				requeue(t, channel, p.Name, letter)
			}
			moved += int64(len(letters))
			waitUntil(t, 90*time.Second, p.Name+" has settled what was requeued", func() bool {
				now := truth(p.Name)
				return now.Requeued == moved && now.Queued == waitingFor(p) && depth(t, broker, p.DeadLetterQueue()) == now.Buried()
			})
		}
		now := truth(p.Name)
		t.Logf("%s: %d requeued in three rounds; %+v", p.Name, moved, now)
		if now.SettledAgain != 0 || now.Processed == 0 || now.Buried() > inherited/2 {
			t.Errorf("%s: want every copy known, settled once, and most of them processed: %+v", p.Name, now)
		}
		if got := now.Messages + now.DeadLetters + now.Queued; got != moved {
			t.Errorf("%s: %d copies were requeued, %d acked, dead-lettered or waiting", p.Name, moved, got)
		}
	}
	for trait := range traits(amqp.Delivery{}) {
		if seen[trait] == 0 {
			t.Errorf("no inherited dead letter has %s; seen: %v", trait, seen)
		}
	}
	if n := truth("refunds"); n.Duplicates != 1 || n.InFlight == 0 {
		t.Errorf("of refunds one was done and one looked in flight: %+v", n)
	}
	if n := truth("notifications"); n.Duplicates != 1 || n.InFlightAcked != 1 {
		t.Errorf("of notifications one was done, and one was swallowed by a marker of work that was not: %+v", n)
	}
	must(t, channel.Close())
	stopping, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	must(t, running.Stop(stopping))
	must(t, store.Stop(context.Background()))
}

// waitingFor counts the requeued copies that loop on a marker whose consumer is gone, for minutes or for ever.
func waitingFor(p shop.PipelineConfig) int64 {
	if p.Name == "invoices" {
		return 2
	}
	return 0
}

// requeue sends a dead letter to its source by the default exchange, as the dashboard does.
func requeue(t *testing.T, channel *amqp.Channel, source string, letter amqp.Delivery) {
	t.Helper()
	headers := amqp.Table{}
	for name, value := range letter.Headers {
		if !slices.Contains([]string{"x-death", "x-first-death-queue", "x-first-death-reason", "x-first-death-exchange", "x-delivery-count", "CC"}, name) {
			headers[name] = value
		}
	}
	count, _ := headers["dedup-requeue-count"].(int64)
	headers["dedup-requeue-count"] = count + 1
	must(t, channel.PublishWithContext(t.Context(), "", source, true, false, amqp.Publishing{
		Headers: headers, MessageId: letter.MessageId, Body: letter.Body, Type: letter.Type, DeliveryMode: amqp.Persistent}))
}

// traits says which of the shapes that a dead letter can have this one has.
func traits(d amqp.Delivery) map[string]bool {
	has := func(header string) bool { _, ok := d.Headers[header]; return ok }
	found := map[string]bool{
		"a Spring header": has("x-exception-stacktrace"), "a MassTransit header": has("MT-Fault-ExceptionType"),
		"an NServiceBus header": has("NServiceBus.ExceptionInfo.ExceptionType"), "a Celery header": has("task"),
		"no message id": d.Body != nil && d.MessageId == "", "a type": d.Type != "", "a timestamp": !d.Timestamp.IsZero(),
		"a user": d.UserId != "", "a CC header": has("CC"), "priority and expiration": d.Priority > 0 && d.Expiration != "",
		"200 kB": len(d.Body) > 190_000, "a malformed history": false,
		message.DeathRejected: false, message.DeathExpired: false, message.DeathMaxLength: false, message.DeathDeliveryLimit: false,
	}
	deaths, _ := d.Headers["x-death"].([]any)
	for _, death := range deaths {
		table, ok := death.(amqp.Table)
		if !ok {
			found["a malformed history"] = true
			continue
		}
		reason, _ := table["reason"].(string)
		found[reason] = true
	}
	return found
}
