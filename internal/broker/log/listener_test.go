package log

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// listening is what the documentation asks for the account of the log.
func listening() servers.Permissions {
	return servers.Permissions{Configure: `^amq\.gen-`, Write: `^amq\.gen-`, Read: `^(amq\.gen-.*|amq\.rabbitmq\.log)$`}
}

const logPassword = "log-secret-canary"

// startLogBroker starts a broker whose consumers time out after five seconds: ours must ack sooner, on a busy machine too.
func startLogBroker(t *testing.T, lines ...string) (*servers.RabbitMQ, broker.Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "advanced.config"), []byte("[{rabbit, [{channel_tick_interval, 500}]}].\n"), 0o600))
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{Dir: dir, StatisticsInterval: time.Second, Config: append(lines, "consumer_timeout = 5000")})
	must(t, rabbit.PutUser(ctx, "watcher", "right", "monitoring"))
	must(t, rabbit.PutPermissions(ctx, "/", "watcher", nothing()))
	must(t, rabbit.PutUser(ctx, "logreader", logPassword, ""))
	must(t, rabbit.PutPermissions(ctx, "/", "logreader", listening()))
	return rabbit, broker.Config{
		Name: "main", ManagementURL: rabbit.ManagementURL(), Username: "watcher", Password: secret.New("right"),
		Log: broker.Act{AMQPURL: "amqp://" + rabbit.AMQPAddr() + "/", Username: "logreader", Password: secret.New(logPassword)},
	}
}

// listen runs a listener until the test ends, and returns a wait for what it has heard.
func listen(t *testing.T, config broker.Config) (until func(what string, ok func(dedup.BrokerLog) bool) dedup.BrokerLog) {
	t.Helper()
	listener, err := NewListener(config, slog.New(slog.DiscardHandler))
	must(t, err)
	return follow(t, listener.Reading, listener.Run, func() {})
}

// follow runs a listener until the test ends, and returns a wait for what it has heard.
func follow(t *testing.T, reading func() *dedup.BrokerLog, run func(context.Context) error, after func()) (until func(what string, ok func(dedup.BrokerLog) bool) dedup.BrokerLog) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-ended)
		after()
	})
	return func(what string, ok func(dedup.BrokerLog) bool) dedup.BrokerLog {
		t.Helper()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		deadline := time.After(90 * time.Second)
		for {
			heard := *reading()
			if ok(heard) {
				return heard
			}
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("%s: %+v", what, heard)
			}
		}
	}
}

// heardOne reports whether one timeout was heard: of queue orders where the log names queues, which it does since 3.13.
func heardOne(l dedup.BrokerLog) bool { return timeouts(l) == 1 }

func timeouts(l dedup.BrokerLog) int64 {
	return l.Unnamed + l.Named[dedup.QueueRef{Vhost: "/", Name: "orders"}]
}

// logsTimeouts reports whether the log of the broker tells of ack timeouts.
func logsTimeouts(t *testing.T, rabbit *servers.RabbitMQ) bool {
	version, err := rabbit.Version(t.Context())
	must(t, err)
	logged := dedup.BrokerInfo{Version: version}.TimeoutsLogged()
	if !logged {
		t.Attr("without", "no ack timeouts of classic queues, and no line in the log for those of quorum queues")
	}
	return logged
}

func TestARealAckTimeoutIsHeardAcrossARestart(t *testing.T) {
	t.Parallel()
	rabbit, config := startLogBroker(t, "log.exchange = true", "log.exchange.level = warning")
	until := listen(t, config)
	// The exchange is declared a while after the listeners are open.
	first := until("never listened", func(l dedup.BrokerLog) bool { return l.Listening })
	if first.Unnamed != 0 || len(first.Named) != 0 || first.Why != "" || first.Since.IsZero() {
		t.Errorf("before any timeout: %+v", first)
	}
	if !logsTimeouts(t, rabbit) {
		return
	}
	holdOne(t, rabbit)
	heard := until("the timeout was not heard", heardOne)
	var overview struct{ Node string }
	must(t, rabbit.API(t.Context(), http.MethodGet, "/api/overview", nil, &overview))
	if len(heard.Heard) != 1 || !heard.Heard[overview.Node] {
		t.Errorf("heard %v, want node %s", heard.Heard, overview.Node)
	}

	must(t, rabbit.Restart(t.Context()))
	after := until("did not listen again", func(l dedup.BrokerLog) bool { return l.Listening && l.Epoch > first.Epoch })
	if !heardOne(after) || !after.Since.After(first.Since) {
		t.Errorf("after a restart: %+v", after)
	}
	holdOne(t, rabbit)
	until("the timeout after the restart was not heard", func(l dedup.BrokerLog) bool { return timeouts(l) == 2 })
}

// holdOne consumes a message and keeps it until the broker closes the channel.
func holdOne(t *testing.T, rabbit *servers.RabbitMQ) {
	t.Helper()
	connection, err := amqp091.Dial(rabbit.AMQPURL(rabbit.Admin()))
	must(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must(t, err)
	_, err = channel.QueueDeclare("orders", true, false, false, false, nil)
	must(t, err)
	must(t, channel.PublishWithContext(t.Context(), "", "orders", false, false, amqp091.Publishing{}))
	closed := channel.NotifyClose(make(chan *amqp091.Error, 1))
	_, err = channel.Consume("orders", "", false, false, false, false, nil)
	must(t, err)
	select {
	case reason := <-closed:
		if reason == nil || reason.Code != amqp091.PreconditionFailed {
			t.Fatalf("the channel was closed: %v", reason)
		}
	case <-time.After(time.Minute):
		t.Fatal("the channel was never closed")
	}
}

func TestALogThatCannotBeFollowedSaysWhyAndWhatToDo(t *testing.T) {
	t.Parallel()
	rabbit, config := startLogBroker(t)
	must(t, rabbit.PutUser(t.Context(), "bare", logPassword, ""))
	must(t, rabbit.PutPermissions(t.Context(), "/", "bare", nothing()))
	for _, tt := range []struct {
		name, why, better string
		change            func(*broker.Config)
	}{
		{"a broker that publishes no log", "not observable on this broker: it does not publish its log", "log.exchange = true", func(*broker.Config) {}},
		{"an account that may do nothing", "lacks a permission", `configure ^amq\.gen-`, func(c *broker.Config) { c.Log.Username = "bare" }},
		{"a wrong password", "login of", "check log.username and log.password", func(c *broker.Config) { c.Log.Password = secret.New("wrong") }},
		{"an address where nothing listens", "connection refused", "log.amqp_url", func(c *broker.Config) { c.Log.AMQPURL = "amqp://127.0.0.1:1/" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := config
			tt.change(&c)
			if tt.why == "not observable on this broker: it does not publish its log" && !logsTimeouts(t, rabbit) {
				// From 4.3 on the exchange is always there.
				listen(t, c)("never listened", func(l dedup.BrokerLog) bool { return l.Listening && len(l.Heard) == 0 })
				return
			}
			heard := listen(t, c)("never said why", func(l dedup.BrokerLog) bool { return strings.Contains(l.Why, tt.why) })
			if heard.Listening || heard.Epoch != 0 || !strings.Contains(heard.Better, tt.better) {
				t.Errorf("%+v", heard)
			}
			if text := heard.Why + heard.Better; strings.Contains(text, logPassword) || strings.Contains(text, "act.") {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestABrokerWithoutAnAccountForTheLogIsNotListenedTo(t *testing.T) {
	listener, err := NewListener(broker.Config{Name: "main", ManagementURL: "http://127.0.0.1:1", Username: "w", Password: secret.New("p")}, slog.New(slog.DiscardHandler))
	if err != nil || listener != nil || listener.Reading() != nil {
		t.Error(listener, err)
	}
}

func TestAnIncompleteAccountForTheLogIsNamed(t *testing.T) {
	err := broker.Config{Name: "main", ManagementURL: "http://127.0.0.1:1", Username: "w", Password: secret.New("p"), Log: broker.Act{AMQPURL: "http://x"}}.Validate()
	if err == nil || !strings.Contains(err.Error(), "log.amqp_url: must be amqp://") {
		t.Error(err)
	}
}

func TestTheNodesThatWereHeardAreBoundedAndForgottenWithTheConnection(t *testing.T) {
	l := &Listener{}
	for i := range maxLogNodes + 10 {
		l.hear(amqp091.Table{"node": strings.Repeat("n", i+1)})
	}
	l.hear(amqp091.Table{"node": int32(1)})
	l.hear(nil)
	if got := l.Reading(); len(got.Heard) != maxLogNodes || !got.Heard["n"] {
		t.Errorf("%d heard", len(got.Heard))
	}
	if l.start(); len(l.Reading().Heard) != 0 {
		t.Error("a node that was heard before is taken to publish still")
	}
}

func TestTheQueuesOfTheLogAreBounded(t *testing.T) {
	l := &Listener{state: dedup.BrokerLog{Named: map[dedup.QueueRef]int64{}}}
	for i := range maxLogQueues + 10 {
		l.count(dedup.QueueRef{Vhost: "/", Name: strings.Repeat("q", i+1)})
	}
	l.count(dedup.QueueRef{Vhost: "/", Name: "q"})
	if got := l.Reading(); len(got.Named) != maxLogQueues || got.Unnamed != 10 || got.Named[dedup.QueueRef{Vhost: "/", Name: "q"}] != 2 {
		t.Errorf("%d named, %d not", len(got.Named), got.Unnamed)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nothing is a permission row that lets an account see a vhost and do nothing in it.
func nothing() servers.Permissions {
	return servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}
}
