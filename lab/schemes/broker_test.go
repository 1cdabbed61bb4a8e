package schemes_test

import (
	"context"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/schemes"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// testBroker is a private RabbitMQ.
type testBroker struct{ connection *amqp.Connection }

func startBroker(t *testing.T) *testBroker {
	t.Helper()
	server := serverstest.RabbitMQ(t, servers.RabbitMQOptions{})
	connection, err := amqp.Dial(server.AMQPURL(server.Admin()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return &testBroker{connection}
}

// queues are a source queue and its dead-letter queue.
type queues struct {
	channel       *amqp.Channel
	source, grave string
}

func (b *testBroker) queues(t *testing.T, name string) *queues {
	t.Helper()
	channel, err := b.connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channel.Close() })
	q := &queues{channel, name, name + ".dead"}
	must(t, channel.Confirm(false))
	_, err = channel.QueueDeclare(q.grave, true, false, false, false, nil)
	must(t, err)
	_, err = channel.QueueDeclare(q.source, true, false, false, false, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": q.grave})
	must(t, err)
	return q
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (q *queues) publish(t *testing.T, id string, at time.Time) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	confirmed, err := q.channel.PublishWithDeferredConfirmWithContext(ctx, "", q.source, true, false,
		amqp.Publishing{MessageId: id, Timestamp: at, DeliveryMode: amqp.Persistent, Body: []byte(id)})
	must(t, err)
	if ok, err := confirmed.WaitContext(ctx); !ok || err != nil {
		t.Fatalf("%s was not confirmed: %v", id, err)
	}
}

// get takes the next message of a queue, which must be there soon.
func (q *queues) get(t *testing.T, queue string) amqp.Delivery {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		d, ok, err := q.channel.Get(queue, false)
		must(t, err)
		if ok {
			return d
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("nothing came into %s", queue)
		}
	}
}

// bury rejects the next message of the source.
func (q *queues) bury(t *testing.T) {
	t.Helper()
	d := q.get(t, q.source)
	must(t, d.Reject(false))
}

// dead takes all messages out of the dead-letter queue, in their order.
func (q *queues) dead(t *testing.T) []dedup.DeadLetter {
	t.Helper()
	var letters []dedup.DeadLetter
	for {
		d, ok, err := q.channel.Get(q.grave, true)
		must(t, err)
		if !ok {
			return letters
		}
		l := dedup.NewDeadLetter(dedup.QueueRef{Vhost: "/", Name: q.grave}, fromDelivery(d))
		if source, ok := l.Source(); !ok || source != q.source || l.Malformed != "" {
			t.Fatalf("the dead letter of %s came from %q: %s", q.source, source, l.Malformed)
		}
		letters = append(letters, l)
	}
}

// requeue sends a message to the source queue, lets a consumer handle it, and looks where it is then.
func (q *queues) requeue(t *testing.T, id string, c schemes.Consumer) outcome {
	t.Helper()
	q.publish(t, id, time.Now())
	d := q.get(t, q.source)
	settled, ran, err := c.Handle(t.Context(), d.MessageId)
	o := outcome{ran, settled, err}
	switch {
	case err != nil:
		must(t, d.Ack(false)) // whatever became of it, the next message begins anew
	case settled == schemes.Acked:
		must(t, d.Ack(false))
	case settled == schemes.Requeued:
		must(t, d.Nack(false, true))
		back := q.get(t, q.source)
		if back.MessageId != id || !back.Redelivered {
			t.Fatalf("%s was returned, and %s came, redelivered %v", id, back.MessageId, back.Redelivered)
		}
		must(t, back.Ack(false))
	case settled == schemes.Rejected:
		must(t, d.Reject(false))
		if back := q.get(t, q.grave); back.MessageId != id {
			t.Fatalf("%s was rejected, and %s came", id, back.MessageId)
		} else {
			must(t, back.Ack(false))
		}
	}
	for _, queue := range []string{q.source, q.grave} {
		if _, left, err := q.channel.Get(queue, true); err != nil || left {
			t.Fatalf("%s is left in %s: %v", id, queue, err)
		}
	}
	return o
}

func fromDelivery(d amqp.Delivery) message.Message {
	return message.Message{Exchange: d.Exchange, RoutingKey: d.RoutingKey, Redelivered: d.Redelivered, Body: d.Body, Properties: message.Properties{
		ContentType: d.ContentType, Headers: table(d.Headers), DeliveryMode: d.DeliveryMode, MessageID: d.MessageId, Timestamp: d.Timestamp,
	}}
}

func table(t amqp.Table) map[string]any {
	m := make(map[string]any, len(t))
	for k, v := range t {
		m[k] = field(v)
	}
	return m
}

func field(v any) any {
	switch v := v.(type) {
	case amqp.Table:
		return table(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = field(e)
		}
		return list
	}
	return v
}
