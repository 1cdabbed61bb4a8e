package shop_test

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/shop"
)

// reasonsOf are those for which messages of a pipeline die.
func reasonsOf(p shop.PipelineConfig) []string {
	var reasons []string
	add := func(so bool, reason string) {
		if so {
			reasons = append(reasons, reason)
		}
	}
	add(p.RetryDelay == 0 && !p.DeadLetterMissing, message.DeathRejected)
	add(p.DeliveryLimit > 0, message.DeathDeliveryLimit)
	add(p.MessageTTL > 0, message.DeathExpired)
	add(p.MaxLength > 0, message.DeathMaxLength)
	return reasons
}

// checkDelay expects every message to have been away for the 3 s of the retry queue, in which it waited for its retry.
func checkDelay(t *testing.T, truth shop.Truth) {
	t.Helper()
	if truth.Delayed == 0 || truth.Delay.Count() != truth.Delayed {
		t.Errorf("%d messages were delayed, %d came back", truth.Delayed, truth.Delay.Count())
	}
	early := int64(0)
	for i, bound := range dedup.LatencyBounds() {
		if bound <= 2.5 {
			early += truth.Delay.Buckets[i]
		}
	}
	if early > 0 {
		t.Errorf("%d of %d messages came back before their delay", early, truth.Delayed)
	}
}

// buried takes everything out of a dead-letter queue and counts it by the broker's reason for the newest death; none is
// the empty one.
func buried(t *testing.T, broker *servers.RabbitMQ, queue string) map[string]int64 {
	t.Helper()
	connection, err := amqp.Dial(broker.AMQPURL(broker.Admin()))
	must(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must(t, err)
	counts := map[string]int64{}
	for _, letter := range takeAll(t, channel, queue) {
		reason := ""
		if deaths, ok := letter.Headers["x-death"].([]any); ok {
			reason, _ = deaths[0].(amqp.Table)["reason"].(string)
		}
		counts[reason]++
	}
	return counts
}

// takeAll empties a dead-letter queue.
func takeAll(t *testing.T, channel *amqp.Channel, queue string) []amqp.Delivery {
	t.Helper()
	var letters []amqp.Delivery
	for {
		letter, ok, err := channel.Get(queue, true)
		must(t, err)
		if !ok {
			return letters
		}
		letters = append(letters, letter)
	}
}
