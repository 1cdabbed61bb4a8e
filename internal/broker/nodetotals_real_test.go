package broker

import (
	"context"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/playground/servers"
	"dedup-dashboard/internal/secret"
)

// TestARealNodeRoutesAsManyMessagesAsItsQueuesCount: what was lost is told from the difference, so that there must be none while no
// channel dies: not for a message that goes to several queues, to none, or on to a dead-letter queue.
func TestARealNodeRoutesAsManyMessagesAsItsQueuesCount(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	rabbit, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: t.TempDir(), Prometheus: true, StatisticsInterval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rabbit.Kill)
	user, password := rabbit.Admin()
	client := newClient(t, rabbit.ManagementURL(), func(c *Config) {
		c.Username, c.Password, c.PrometheusURLs = user, secret.New(password), []string{rabbit.PrometheusURL()}
	})
	connection, err := amqp.Dial(rabbit.AMQPURL(user, password))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, arguments := range map[string]amqp.Table{
		"left": nil, "right": {"x-queue-type": "quorum"}, "dead": nil,
		"bounded": {"x-max-length": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"},
	} {
		_, err := channel.QueueDeclare(name, true, false, false, false, arguments)
		must(err)
	}
	must(channel.QueueBind("left", "", "amq.fanout", false, nil))
	must(channel.QueueBind("right", "", "amq.fanout", false, nil))
	publish := func(exchange, key string, n int) {
		for range n {
			must(channel.PublishWithContext(ctx, exchange, key, false, false, amqp.Publishing{}))
		}
	}
	publish("amq.fanout", "", 10)
	publish("", "left", 7)
	publish("", "bounded", 3)
	publish("", "nowhere", 5)
	const want = 2*10 + 7 + 3
	published, routed, dead := int64(0), int64(0), int64(0)
	for published != want || routed != want || dead != 3 {
		sample, err := client.Sample(ctx)
		if err != nil {
			t.Fatalf("published %d, routed %d, dead %d: %v", published, routed, dead, err)
		}
		published, dead = 0, 0
		for _, q := range sample.Queues {
			published += count(q.Counters.Publish)
			if q.Name == "dead" {
				dead = count(q.Messages)
			}
		}
		routed = count(sample.Totals[0].Routed)
		if published > want || routed > want {
			t.Fatalf("published %d, routed %d; want %d", published, routed, want)
		}
	}
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
