package servers_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"dedup-dashboard/lab/servers"
)

func TestRabbitMQKeepsItsDataAndPortsAcrossARestartAndLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx := t.Context()
	broker, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: t.TempDir(), Prometheus: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Kill)

	must(t, broker.PutVHost(ctx, "a/b"))
	must(t, broker.PutUser(ctx, "watcher", "pw", "monitoring"))
	must(t, broker.PutPermissions(ctx, "/", "watcher", servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}))
	must(t, broker.PutPolicy(ctx, "/", "dlx", servers.Policy{
		Pattern: "^kept$", ApplyTo: "queues", Definition: map[string]any{"dead-letter-exchange": "dead"}}))
	publishOne(t, broker, "kept")

	if out, err := broker.Ctl(ctx, "list_queues", "name", "messages", "--quiet"); err != nil || !strings.Contains(out, "kept\t1") {
		t.Errorf("rabbitmqctl list_queues: %q, %v", out, err)
	}
	if status := statusOf(t, broker.PrometheusURL()+"/metrics"); status != http.StatusOK {
		t.Errorf("Prometheus endpoint: status %d", status)
	}

	before := broker.AMQPAddr()
	must(t, broker.Restart(ctx))
	if broker.AMQPAddr() != before {
		t.Errorf("address after the restart = %s, want %s", broker.AMQPAddr(), before)
	}
	waitUntil(t, "the durable queue with its policy is listed after the restart", func() bool {
		var queue struct {
			Durable bool   `json:"durable"`
			Policy  string `json:"policy"`
		}
		err := broker.API(ctx, http.MethodGet, "/api/queues/%2F/kept", nil, &queue)
		return err == nil && queue.Durable && queue.Policy == "dlx"
	})

	pid := broker.PID()
	must(t, broker.Stop(ctx))
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("the broker's process %d is still there", pid)
	}
	if connection, err := net.Dial("tcp", before); err == nil {
		connection.Close()
		t.Errorf("%s still accepts connections", before)
	}
}

func TestRedisTakesArgumentsAndComesBackOnItsPort(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx := t.Context()
	server, err := servers.StartRedis(ctx, servers.RedisOptions{
		Dir: t.TempDir(), Args: []string{"--maxmemory", "8mb", "--appendonly", "yes", "--appendfsync", "always"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	must(t, client.Set(ctx, "k", "v", 0).Err())
	if got := client.ConfigGet(ctx, "maxmemory").Val()["maxmemory"]; got != "8388608" {
		t.Errorf("maxmemory = %q, want 8388608", got)
	}
	server.Kill()
	must(t, server.Restart(ctx))
	if got, err := client.Get(ctx, "k").Result(); err != nil || got != "v" {
		t.Errorf("after kill and restart k = %q, %v", got, err)
	}
	must(t, server.Stop(ctx))
}

func TestAServerThatCannotStartSaysWhyWithItsLog(t *testing.T) {
	_, err := servers.StartRedis(t.Context(), servers.RedisOptions{Dir: t.TempDir(), Args: []string{"--no-such-setting", "1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("error = %v, want one that shows the end of the log", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	broker, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: t.TempDir()})
	if err == nil {
		broker.Kill()
		t.Fatal("a broker started in 300 ms")
	}
}

func publishOne(t *testing.T, broker *servers.RabbitMQ, queue string) {
	t.Helper()
	connection, err := amqp.Dial(broker.AMQPURL(broker.Admin()))
	must(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must(t, err)
	must(t, channel.Confirm(false))
	_, err = channel.QueueDeclare(queue, true, false, false, false, nil)
	must(t, err)
	confirmation, err := channel.PublishWithDeferredConfirm("", queue, false, false,
		amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("x")})
	must(t, err)
	if !confirmation.Wait() {
		t.Fatal("the broker did not confirm")
	}
}

func statusOf(t *testing.T, address string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	must(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	return response.StatusCode
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("after a minute it does not hold that %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
