package live

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// startBroker starts a RabbitMQ, of another version where RABBITMQ_ROOT names a folder.
func startBroker(t *testing.T) *servers.RabbitMQ {
	t.Helper()
	return serverstest.RabbitMQ(t, servers.RabbitMQOptions{Prometheus: true})
}

// watching returns a reader of queues of a broker.
func watching(t *testing.T, rabbit *servers.RabbitMQ, queues ...string) *Reader {
	t.Helper()
	reader, err := NewReader(broker.Config{Name: "main", PrometheusURLs: []string{rabbit.PrometheusURL()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.nodes[0].http.CloseIdleConnections)
	reader.nodes[0].timeout = time.Minute
	watched := make([]dedup.QueueRef, 0, len(queues))
	for _, queue := range queues {
		watched = append(watched, ref(queue))
	}
	reader.Watch(watched...)
	return reader
}

// seldomly is how many acks of a worker pass between readings, so that channels come and go between them.
const seldomly = 3000

// A worker consumes from one queue: it acks, asks something so that the broker has read the acks, and its channel ends after a while; then
// it opens another.
type worker struct {
	queue string
	// sent are acks that were sent, read are those that the broker is known to have read.
	sent, read atomic.Int64
	progress   chan<- struct{}
	room       chan struct{} // holds what was published and not acked
}

func newWorker(queue string, progress chan<- struct{}) *worker {
	return &worker{queue: queue, progress: progress, room: make(chan struct{}, 500)}
}

// publish publishes as fast as the worker acks, and a last message when it is enough.
func (w *worker) publish(ctx context.Context, connection *amqp.Connection, enough <-chan struct{}) error {
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	for {
		body := "one"
		select {
		case w.room <- struct{}{}:
		case <-enough:
			body = "last"
		}
		if err := channel.PublishWithContext(ctx, "", w.queue, false, false, amqp.Publishing{Body: []byte(body)}); err != nil || body == "last" {
			return err
		}
	}
}

// life opens a channel, acks some messages and ends the channel; false when the queue has none left.
func (w *worker) life(connection *amqp.Connection, most int) (bool, error) {
	channel, err := connection.Channel()
	if err != nil {
		return false, err
	}
	defer channel.Close()
	if err := channel.Qos(10, 0, false); err != nil {
		return false, err
	}
	deliveries, err := channel.Consume(w.queue, "", false, false, false, false, nil)
	if err != nil {
		return false, err
	}
	for acked := 1; acked <= most; acked++ {
		d, ok := <-deliveries
		if !ok {
			return false, errors.New("the channel ended")
		}
		w.sent.Add(1)
		last := string(d.Body) == "last"
		if !last {
			<-w.room
		}
		if err := d.Ack(false); err != nil {
			return false, err
		}
		if acked%5 == 0 || acked == most || last {
			sent := w.sent.Load()
			if err := channel.Qos(10, 0, false); err != nil { // answered once the acks before it were read
				return false, err
			}
			if before := w.read.Swap(sent); before/seldomly != sent/seldomly {
				select {
				case w.progress <- struct{}{}:
				default:
				}
			}
		}
		if last {
			return false, nil
		}
	}
	return true, nil
}

// TestLiveCountsAreWhatConsumersDid while they ack, their channels end and others open: within the two moments of each reading, and exactly
// over the whole run. It goes on until rows have taken acks along, which they do each time the management clears them away.
func TestLiveCountsAreWhatConsumersDid(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	rabbit := startBroker(t)
	reader := watching(t, rabbit, "classic", "quorum")
	progress, enough := make(chan struct{}, 1), make(chan struct{})
	workers := []*worker{newWorker("classic", progress), newWorker("quorum", progress)}
	fill(ctx, t, dial(t, rabbit), "classic", 0, nil)
	fill(ctx, t, dial(t, rabbit), "quorum", 0, amqp.Table{"x-queue-type": "quorum"})
	first := readReal(ctx, t, reader)
	done := make(chan error, 2*len(workers))
	for i, w := range workers {
		publishing, consuming := dial(t, rabbit), dial(t, rabbit)
		go func() { done <- w.publish(ctx, publishing, enough) }()
		go func() {
			var err error
			for more := true; more && err == nil; {
				more, err = w.life(consuming, 37+24*i)
			}
			done <- err
		}()
	}
	n, readings := reader.nodes[0].node, 0
	for ended := 0; ended < cap(done); {
		select {
		case err := <-done:
			if ended++; err != nil {
				t.Fatal(err)
			}
		case <-progress:
			checkReading(ctx, t, reader, &first, workers)
			if readings++; readings == 10 && n.family == queueRows || n.repair.now.low[Acked] > 0 && enough != nil && readings >= 10 {
				close(enough)
				enough, readings = nil, readings+1
			}
		case <-ctx.Done():
			t.Fatalf("after %d readings nothing was lost", readings)
		}
	}
	for range settling {
		checkReading(ctx, t, reader, &first, workers)
	}
	all, lost := workers[0].sent.Load()+workers[1].sent.Load(), &n.repair.now
	if lost.low[Acked] != lost.high[Acked] || n.sum[Acked]+lost.low[Acked] != all {
		t.Errorf("rows told of %d acks, and took %d to %d along, of %d", n.sum[Acked], lost.low[Acked], lost.high[Acked], all)
	}
	t.Logf("%d readings; rows told of %d acks and took %d along, of %d", readings, n.sum[Acked], lost.low[Acked], all)
}

// checkReading reads while workers work, and compares: what the broker had read before is counted, and no more than was sent by then.
func checkReading(ctx context.Context, t *testing.T, reader *Reader, first *Reading, workers []*worker) Reading {
	t.Helper()
	var least, most []int64
	for _, w := range workers {
		least = append(least, w.read.Load())
	}
	now := readReal(ctx, t, reader)
	for i, w := range workers {
		most = append(most, w.sent.Load())
		was, _ := first.Count(ref(w.queue))
		is, _ := now.Count(ref(w.queue))
		low, high := Between(was, is)
		if is.Since.After(first.Done) || low[Acked] > most[i] || high[Acked] < least[i] || now.Source == OfQueues && low != high {
			t.Fatalf("%s: %d to %d acked since %s, of %d to %d", w.queue, low[Acked], high[Acked], is.Since, least[i], most[i])
		}
		if now.Source == OfQueues && low[Delivered] < low[Acked] {
			t.Fatalf("%s: %d delivered, %d acked", w.queue, low[Delivered], low[Acked])
		}
	}
	return now
}

func readReal(ctx context.Context, t *testing.T, reader *Reader) Reading {
	t.Helper()
	now, err := reader.Read(ctx)
	if err != nil || now.Gap != nil || now.Unreadable != 0 {
		t.Fatalf("%+v, %v", now, err)
	}
	return now
}

func dial(t *testing.T, rabbit *servers.RabbitMQ) *amqp.Connection {
	t.Helper()
	connection, err := amqp.Dial(rabbit.AMQPURL(rabbit.Admin()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// fill declares a queue and publishes to it.
func fill(ctx context.Context, t *testing.T, connection *amqp.Connection, queue string, n int, arguments amqp.Table) {
	t.Helper()
	channel, err := connection.Channel()
	if err == nil {
		_, err = channel.QueueDeclare(queue, true, false, false, false, arguments)
	}
	if err == nil {
		err = channel.Confirm(false)
	}
	for range n {
		var published *amqp.DeferredConfirmation
		if err == nil {
			published, err = channel.PublishWithDeferredConfirmWithContext(ctx, "", queue, false, false, amqp.Publishing{})
		}
		if err == nil {
			_, err = published.WaitContext(ctx)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadingsOfARealBroker(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	rabbit := startBroker(t)
	t.Run("each kind is counted", func(t *testing.T) { checkKinds(ctx, t, rabbit) })
	t.Run("a channel that hangs is quiet", func(t *testing.T) { checkQuiet(ctx, t, rabbit) })
}

// checkKinds: each kind is counted by its own counter, whatever the queue is called.
func checkKinds(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) {
	names := []string{"plain", `a "quoted\ {name},queue="x"} 7`, "Grüße 你好", "in another vhost"}
	reader := watching(t, rabbit, names...)
	if err := rabbit.PutVHost(ctx, "other"); err != nil {
		t.Fatal(err)
	}
	if err := rabbit.API(ctx, http.MethodPut, "/api/queues/other/plain", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	connection := dial(t, rabbit)
	readReal(ctx, t, reader)
	want := Counts{Acked: 3, Delivered: 4, DeliveredAuto: 2, Got: 1, GotAuto: 1, Redelivered: 2}
	for _, name := range names {
		fill(ctx, t, connection, name, 6, nil)
		useInAllWays(t, connection, name)
	}
	got := readReal(ctx, t, reader)
	for _, name := range names {
		count, _ := got.Count(ref(name))
		if count.Counts[Published] == 6 && got.Source == OfQueues {
			count.Counts[Published] = 0
		}
		if count.Counts != want {
			t.Errorf("%s: %v, want %v", name, count.Counts, want)
		}
	}
}

// useInAllWays takes six messages, one of them twice and one three times, on a channel that stays open.
func useInAllWays(t *testing.T, connection *amqp.Connection, queue string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	channel, err := connection.Channel()
	must(err)
	got, ok, err := channel.Get(queue, false)
	must(err)
	if !ok {
		t.Fatal("no message")
	}
	must(got.Nack(false, true))
	_, ok, err = channel.Get(queue, true) // comes back first
	must(err)
	if !ok {
		t.Fatal("no message")
	}
	must(channel.Qos(1, 0, false))
	deliveries, err := channel.Consume(queue, "acks", false, false, false, false, nil)
	must(err)
	must((<-deliveries).Nack(false, true))
	for range 2 {
		must((<-deliveries).Ack(false))
	}
	last := <-deliveries
	must(channel.Cancel("acks", false))
	must(last.Ack(false))
	must(channel.Qos(0, 0, false))
	deliveries, err = channel.Consume(queue, "rest", true, false, false, false, nil)
	must(err)
	for range 2 {
		<-deliveries
	}
	must(channel.Qos(1, 0, false)) // all was read
}
