package collector_test

import (
	"context"
	"errors"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/broker"
	brokerlog "dedup-dashboard/internal/broker/log"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// A deathbed is a dashboard's observing half on a real broker which drops the counts of dead channels every second, before it
// collects them every five.
type deathbed struct {
	rabbit    *servers.RabbitMQ
	collector *collector.Collector
	acked     int
}

// A punctual broker gives no reading without what its node counts: figures and meter begin with the same reading, or the meter could not
// tell of the first part of the window.
type punctual struct{ *broker.Client }

func (p punctual) Sample(ctx context.Context) (dedup.BrokerSample, error) {
	s, err := p.Client.Sample(ctx)
	if err == nil && slices.ContainsFunc(s.Totals, func(n dedup.NodeTotals) bool { return n.Err != "" }) {
		return dedup.BrokerSample{}, errors.New("the node did not tell its counters in time")
	}
	return s, err
}

func newDeathbed(t *testing.T, change ...func(*servers.RabbitMQOptions)) *deathbed {
	t.Helper()
	ctx := t.Context()
	dir, log := filepath.Join(t.TempDir(), "rabbitmq"), slog.New(slog.DiscardHandler)
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "advanced.config"), []byte("[{rabbit, [{channel_tick_interval, 500}, {core_metrics_gc_interval, 1000}]}].\n"), 0o600))
	options := servers.RabbitMQOptions{Dir: dir, Prometheus: true, Config: []string{"log.exchange = true", "log.exchange.level = warning"}}
	for _, c := range change {
		c(&options)
	}
	rabbit := serverstest.RabbitMQ(t, options)
	must(t, rabbit.PutUser(ctx, "logreader", "right", ""))
	must(t, rabbit.PutPermissions(ctx, "/", "logreader", servers.Permissions{Configure: `^amq\.gen-`, Write: `^amq\.gen-`, Read: `^(amq\.gen-.*|amq\.rabbitmq\.log)$`}))
	must(t, rabbit.API(ctx, http.MethodPut, "/api/queues/%2F/orders", map[string]any{"durable": true}, nil))
	history, err := series.Open(series.Config{Dir: filepath.Join(t.TempDir(), "series"), Retention: 24 * time.Hour, MaxBytes: 1 << 28, Interval: 2 * time.Second}, log)
	must(t, err)
	t.Cleanup(func() { must(t, history.Close()) })
	user, password := rabbit.Admin()
	config := broker.Config{Name: "main", ManagementURL: rabbit.ManagementURL(), Username: user, Password: secret.New(password),
		PrometheusURLs: []string{rabbit.PrometheusURL()}, Log: broker.Act{AMQPURL: "amqp://" + rabbit.AMQPAddr() + "/", Username: "logreader", Password: secret.New("right")}}
	client, err := broker.New(config)
	must(t, err)
	t.Cleanup(client.Close)
	listener, err := brokerlog.NewListener(config, log)
	must(t, err)
	client.ReadLog(listener)
	eventually(t, time.Minute, "the nodes are listed and tell their counters: the meter begins with the first reading", func() bool {
		s, err := client.Sample(ctx)
		return err == nil && len(s.State.Nodes) > 0 && len(s.Totals) == 1 && s.Totals[0].Err == ""
	})
	d := &deathbed{rabbit: rabbit}
	d.collector, err = collector.New(collector.Config{Interval: 2 * time.Second}, collector.Deps{Brokers: []source.Broker{punctual{client}}, Series: history, Log: log,
		Pipelines: []dedup.Pipeline{{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}, Limits: dedup.DefaultLimits()}}})
	must(t, err)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 2)
	go func() { done <- d.collector.Run(running) }()
	go func() { done <- listener.Run(running) }()
	t.Cleanup(func() { stop(); <-done; <-done })
	return d
}

func (d *deathbed) figures() (*dedup.PipelineStatus, dedup.WindowFigures) {
	p, ok := d.collector.Snapshot().Pipeline("orders")
	if !ok || len(p.Windows) < 2 {
		return &dedup.PipelineStatus{}, dedup.WindowFigures{}
	}
	return p, p.Windows[1]
}

// consume publishes n messages and consumes and acks them on a connection of its own, which lives on.
func (d *deathbed) consume(t *testing.T, n int) *amqp091.Connection {
	t.Helper()
	connection, err := amqp091.Dial(d.rabbit.AMQPURL(d.rabbit.Admin()))
	must(t, err)
	channel, err := connection.Channel()
	must(t, err)
	deliveries, err := channel.Consume("orders", "worker", false, false, false, false, nil)
	must(t, err)
	for range n {
		must(t, channel.PublishWithContext(t.Context(), "", "orders", false, false, amqp091.Publishing{}))
	}
	for range n {
		select {
		case delivery := <-deliveries:
			must(t, delivery.Ack(false))
			d.acked++
		case <-time.After(90 * time.Second):
			t.Fatal("no delivery came")
		}
	}
	return connection
}

// rest waits until the collector has read the broker for a while: rounds alone prove nothing, as a busy broker may miss readings.
func (d *deathbed) rest(t *testing.T, while time.Duration) {
	t.Helper()
	until := time.Now().Add(while)
	eventually(t, while+2*time.Minute, "the broker was watched at rest", func() bool {
		return slices.ContainsFunc(d.collector.Snapshot().Sources, func(s dedup.SourceHealth) bool {
			return s.Name == "broker main" && s.LastSuccess.After(until)
		})
	})
}

// restart replaces consumers, and reports whether the meter can tell then how many counts were lost, and not at most how many: its spans end at a
// reading that a busy machine missed.
func (d *deathbed) restart(t *testing.T, times int) bool {
	t.Helper()
	eventually(t, 90*time.Second, "restarts are told, and there are none; no ack timeout is counted", func() bool {
		_, w := d.figures()
		return w.AckTimeouts.N == 0 && w.ConsumerRestarts.Known() && w.ConsumerRestarts.N == 0
	})
	d.rest(t, 16*time.Second) // the window is to begin at rest
	first := d.consume(t, 40)
	d.rest(t, 8*time.Second)
	must(t, first.Close())
	for range times {
		next := d.consume(t, 40)
		eventually(t, time.Minute, "the consumer is listed", func() bool { p, _ := d.figures(); return p.Gauges[dedup.Consumers].Value == 1 })
		must(t, next.Close())
		eventually(t, time.Minute, "the consumer is gone", func() bool {
			p, _ := d.figures()
			return p.Gauges[dedup.Consumers].Known() && p.Gauges[dedup.Consumers].Value == 0
		})
	}
	last := d.consume(t, 40)
	t.Cleanup(func() { _ = last.Close() })
	d.rest(t, 24*time.Second)
	var w dedup.WindowFigures
	eventually(t, 2*time.Minute, "messages and restarts are shown", func() bool {
		_, w = d.figures()
		return w.Messages.Known() && w.ConsumerRestarts.Known()
	})
	return !strings.Contains(w.Messages.Why, "is not known yet") && !strings.Contains(w.Messages.Why, "the counts of at most")
}

func TestARealBrokerTellsOfTimeoutsRestartsAndLostCounts(t *testing.T) {
	t.Parallel()
	const restarts = 3
	d := newDeathbed(t)
	for tries := 1; !d.restart(t, restarts) && tries < 3; tries++ {
		d = newDeathbed(t)
	}
	t.Run("consumers that were replaced are counted, at least", func(t *testing.T) {
		f := d.known(t, func(w dedup.WindowFigures) dedup.Figure { return w.ConsumerRestarts })
		t.Logf("%v restarts of %d shown: %s", f.N, restarts+1, f.Why)
		if f.N < 1 || f.N > restarts+1 || !f.AtLeast || f.Quality != dedup.Derived {
			t.Errorf("%+v", f)
		}
	})
	t.Run("the counts that were lost are as many as the consumers know", func(t *testing.T) {
		f := d.known(t, func(w dedup.WindowFigures) dedup.Figure { return w.Messages })
		lost := d.acked - int(f.Value)
		t.Logf("acked %d, shown %v: %s", d.acked, f.Value, f.Why)
		switch {
		case lost < 0:
			t.Errorf("%d acks, %+v shown", d.acked, f)
		case lost == 0 && (f.AtLeast || !strings.Contains(f.Why, "prove that no count of an ack was lost")):
			t.Errorf("none was lost: %+v", f)
		case lost > 0 && (!f.AtLeast || !strings.Contains(f.Why, "lost the counts of "+grouped(lost)+" to "+grouped(lost)+" acks")):
			t.Errorf("%d were lost: %+v", lost, f)
		}
	})
	t.Run("a timeout is heard, of the whole broker on 3.10", func(t *testing.T) { d.timeout(t) })
	t.Run("the oldest message is dated by its publisher", func(t *testing.T) { d.oldest(t) })
}

// known returns a figure from a reading that the broker answered.
func (d *deathbed) known(t *testing.T, of func(dedup.WindowFigures) dedup.Figure) (f dedup.Figure) {
	t.Helper()
	eventually(t, 2*time.Minute, "the figure is known", func() bool {
		_, w := d.figures()
		f = of(w)
		return f.Known()
	})
	return f
}

func grouped(n int) string { return strconv.Itoa(n) } // below 1,000

// timeout lets a consumer hold a delivery. Only the channels of this test time out soon: those before need not be in time.
func (d *deathbed) timeout(t *testing.T) {
	version, err := d.rabbit.Version(t.Context())
	must(t, err)
	if (dedup.BrokerInfo{Version: version}).TimeoutsNamed() {
		return // what names its queue is of one pipeline, and no matter for this test
	}
	_, err = d.rabbit.Eval(t.Context(), "application:set_env(rabbit, consumer_timeout, 2000).")
	must(t, err)
	connection, err := amqp091.Dial(d.rabbit.AMQPURL(d.rabbit.Admin()))
	must(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must(t, err)
	must(t, d.rabbit.API(t.Context(), http.MethodPut, "/api/queues/%2F/slow", map[string]any{"durable": true}, nil))
	must(t, channel.PublishWithContext(t.Context(), "", "slow", false, false, amqp091.Publishing{}))
	_, err = channel.Consume("slow", "", false, false, false, false, nil)
	must(t, err)
	eventually(t, time.Minute, "the timeout is shown", func() bool {
		_, w := d.figures()
		return w.AckTimeouts.N == 1 && w.AckTimeouts.Quality == dedup.Derived && strings.Contains(w.AckTimeouts.Why, "of the whole broker")
	})
	p, _ := d.figures()
	told := false
	for _, e := range p.Events {
		told = told || e.Kind == "ack_timeout" && strings.Contains(e.Text, "does not name the queue")
	}
	if !told {
		t.Errorf("%+v", p.Events)
	}
}

func (d *deathbed) oldest(t *testing.T) {
	eventually(t, time.Minute, "with empty queues no message waits", func() bool {
		p, _ := d.figures()
		return !p.OldestWaiting.Known() && p.OldestWaiting.Why == "no message waits"
	})
	connection, err := amqp091.Dial(d.rabbit.AMQPURL(d.rabbit.Admin()))
	must(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must(t, err)
	must(t, d.rabbit.API(t.Context(), http.MethodDelete, "/api/queues/%2F/orders", nil, nil))
	must(t, d.rabbit.API(t.Context(), http.MethodPut, "/api/queues/%2F/orders", map[string]any{"durable": true}, nil))
	must(t, channel.PublishWithContext(t.Context(), "", "orders", false, false, amqp091.Publishing{Timestamp: time.Now().Add(-time.Hour)}))
	eventually(t, time.Minute, "the age of the message is shown", func() bool {
		p, _ := d.figures()
		return p.OldestWaiting.Known() && p.OldestWaiting.Value >= 3599 && p.OldestWaiting.Value < 3900
	})
}
