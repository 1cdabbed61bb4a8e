package broker

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// TestARealNodeCounts shares one broker, because starting one takes longer than each of its parts.
func TestARealNodeCounts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	rabbit, client := startScraped(ctx, t, servers.RabbitMQOptions{StatisticsInterval: time.Second})
	for _, part := range []struct {
		name  string
		check func(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ, client *Client)
	}{
		{"as many messages routed as its queues count", checkRouted}, // by sums of the whole node, so it comes first
		{"what a classic queue took in", checkEntered},
		{"deaths by reason", checkDeaths},
	} {
		t.Run(part.name, func(t *testing.T) { part.check(ctx, t, rabbit, client) })
	}
}

// checkRouted: what was lost is told from the difference, so that there must be none while no channel dies: not for a message that goes
// to several queues, to none, or on to a dead-letter queue.
func checkRouted(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ, client *Client) {
	channel := openChannel(t, rabbit, "/")
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
		time.Sleep(betweenLooks)
	}
}

// checkEntered: a classic queue counts what it took in, whatever way a message came in, whoever sent it and whatever became of it.
func checkEntered(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ, client *Client) {
	const vhost = "entered"
	must(t, rabbit.PutVHost(ctx, vhost))
	channel := openChannel(t, rabbit, vhost)
	dies := amqp.Table{"x-max-length": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
	for name, arguments := range map[string]amqp.Table{
		"consumed": nil, "purged": nil, "lazy": {"x-queue-mode": "lazy"}, "urgent": {"x-max-priority": 5}, "bounded": dies, "dead": nil, "idle": nil,
		"quorum": {"x-queue-type": "quorum"},
	} {
		if _, err := channel.QueueDeclare(name, true, false, false, false, arguments); err != nil {
			t.Fatal(err)
		}
	}
	takeInAllWays(ctx, t, channel, openChannel(t, rabbit, vhost))
	version, err := rabbit.Version(ctx)
	must(t, err)
	told := strings.HasPrefix(version, "3.10.") // what the reduced list of queues of 3.13 and later leaves out
	if !told {
		t.Attr("without", "classic queues do not tell how many messages they took in")
	}
	want := map[string]int64{"consumed": 9, "purged": 5, "lazy": 5, "urgent": 6, "bounded": 3, "dead": 3, "idle": 0}
	for {
		sample, err := client.Sample(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int64)
		described := 0
		for _, q := range sample.Queues {
			if q.Vhost == vhost && q.Messages != nil {
				described++
			}
			if q.Vhost == vhost && q.Entered != nil {
				got[q.Name] = *q.Entered
			}
		}
		if told && maps.Equal(got, want) || !told && described > len(want) && len(got) == 0 {
			return
		}
		for queue, n := range got {
			if most, known := want[queue]; !known || n > most {
				t.Fatalf("%s took in %d, want %d (%v)", queue, n, most, known)
			}
		}
		time.Sleep(betweenLooks)
	}
}

// takeInAllWays publishes to the queues, on a channel that is closed afterwards and may take counts of publishes along: to a waiting
// consumer, which returns some, and to none; to be returned and fetched again; to be dead-lettered; before and after a purge.
func takeInAllWays(ctx context.Context, t *testing.T, consumer, publisher *amqp.Channel) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	publish := func(queue string, n int) {
		for i := range n {
			must(publisher.PublishWithContext(ctx, "", queue, false, false, amqp.Publishing{Priority: uint8(i % 4), DeliveryMode: amqp.Persistent}))
		}
	}
	deliveries, err := consumer.ConsumeWithContext(ctx, "consumed", "", false, false, false, false, nil)
	must(err)
	for queue, n := range map[string]int{"consumed": 9, "purged": 4, "lazy": 5, "urgent": 6, "bounded": 3, "quorum": 2} {
		publish(queue, n)
	}
	for i := range 9 + 3 {
		d := <-deliveries
		if i < 3 {
			must(d.Nack(false, true)) // comes back, and is not new
		} else {
			must(d.Ack(false))
		}
	}
	for _, queue := range []string{"lazy", "urgent"} {
		for found := false; !found && ctx.Err() == nil; {
			var d amqp.Delivery
			d, found, err = consumer.Get(queue, false)
			must(err)
			if found {
				must(d.Nack(false, true))
			}
		}
	}
	for purged := 0; purged < 4 && ctx.Err() == nil; { // they were sent on another channel
		n, err := consumer.QueuePurge("purged", false)
		must(err)
		purged += n
	}
	publish("purged", 1)
	must(publisher.Close())
}

// startScraped starts a RabbitMQ with Prometheus, and a client that reads both.
func startScraped(ctx context.Context, t *testing.T, options servers.RabbitMQOptions) (*servers.RabbitMQ, *Client) {
	t.Helper()
	options.Dir, options.Prometheus = t.TempDir(), true
	rabbit := serverstest.RabbitMQ(t, options)
	user, password := rabbit.Admin()
	client := newClient(t, rabbit.ManagementURL(), patient, func(c *Config) {
		c.Username, c.Password, c.PrometheusURLs = user, secret.New(password), []string{rabbit.PrometheusURL()}
	})
	client.scraper.timeout = time.Minute
	return rabbit, client
}

// openChannel opens a channel in a vhost, on a connection of its own.
func openChannel(t *testing.T, rabbit *servers.RabbitMQ, vhost string) *amqp.Channel {
	t.Helper()
	connection, err := amqp.DialConfig(rabbit.AMQPURL(rabbit.Admin()), amqp.Config{Vhost: vhost})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return channel
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
