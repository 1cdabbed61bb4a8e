package amqp

import (
	"fmt"
	"net/http"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/servers"
)

// described waits until the broker has statistics of a queue, without which its policy is not known.
func (b *movingBroker) described(t *testing.T, queue dedup.QueueRef) {
	t.Helper()
	eventually(t, "the queue is described", func() bool {
		q, err := b.mover.watch.Queue(t.Context(), queue)
		must(t, err)
		return q.Messages != nil
	})
}

func (b *movingBroker) peeks(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "peek.dead", nil)
	fill(t, channel, queue.Name, "m", 30)
	eventually(t, "its bodies are measured", func() bool {
		q, err := b.mover.watch.Queue(t.Context(), queue)
		must(t, err)
		return q.Bytes != nil && *q.Bytes == 30*int64(len("body"))
	})
	b.described(t, queue)
	peek, err := b.mover.Peek(t.Context(), queue, 20, 1<<20)
	if err != nil || len(peek.Messages) != 20 || peek.Ready != 30 || peek.Short != "" || peek.Took <= 0 {
		t.Fatalf("%d messages of %d, %q, %v", len(peek.Messages), peek.Ready, peek.Short, err)
	}
	if n := depth(t, channel, queue.Name); n != 30 {
		t.Errorf("%d are back right after the look", n)
	}
	if peek, err = b.mover.Peek(t.Context(), queue, 20, 60); err != nil || len(peek.Messages) >= 20 || peek.Short == "" {
		t.Errorf("%d messages, %q, %v", len(peek.Messages), peek.Short, err)
	}
	for i := range 30 {
		d, _, err := channel.Get(queue.Name, true)
		must(t, err)
		if want := fmt.Sprintf("m-%d", i); d.MessageId != want {
			t.Fatalf("got %s, want %s: a look changed the order", d.MessageId, want)
		}
	}
	if peek, err = b.mover.Peek(t.Context(), queue, 20, 1<<20); err != nil || len(peek.Messages) != 0 || peek.Ready != 0 {
		t.Errorf("%d messages of %d, %v in an empty queue", len(peek.Messages), peek.Ready, err)
	}
}

func (b *movingBroker) refusesPeeks(t *testing.T) {
	channel := b.admin(t)
	refused := map[string]struct {
		arguments amqp.Table
		why       string
	}{
		"stream.dead":  {amqp.Table{"x-queue-type": "stream"}, "it is a stream"},
		"limit.dead":   {amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(-1)}, "takes as no return at all"},
		"bounded.dead": {amqp.Table{"x-max-length": int32(10)}, "room for 10 more"},
	}
	unlimited := amqp.Table{"x-queue-type": "quorum"}
	if b.counts() {
		t.Attr("without", "quorum dead-letter queues with a delivery limit are neither looked at nor picked from")
		unlimited["x-delivery-limit"] = int32(-1)
		limited := refused["limit.dead"]
		limited.arguments, limited.why = amqp.Table{"x-queue-type": "quorum"}, "its delivery limit is 20"
		refused["limit.dead"] = limited
	}
	for name, test := range refused {
		declare(t, channel, name, test.arguments) // all at once: the broker describes new queues every 5 s
	}
	quorum := declare(t, channel, "peeked quorum.dead", unlimited)
	fill(t, channel, quorum.Name, "m", 3)
	for name, test := range refused {
		queue := dedup.QueueRef{Vhost: "/", Name: name}
		b.described(t, queue)
		_, err := b.mover.Peek(t.Context(), queue, 20, 1<<20)
		checkAct(t, err, broker.NotPossible, test.why)
	}
	b.described(t, quorum)
	for range 25 {
		if peek, err := b.mover.Peek(t.Context(), quorum, 20, 1<<20); err != nil || len(peek.Messages) != 3 {
			t.Fatalf("%d messages, %v", len(peek.Messages), err)
		}
	}
	_, err := b.mover.Peek(t.Context(), dedup.QueueRef{Vhost: "/", Name: "nowhere.dead"}, 20, 1<<20)
	checkAct(t, err, broker.NoQueue, "no such queue")
}

func (b *movingBroker) parks(t *testing.T) {
	dead := dedup.QueueRef{Vhost: "/", Name: "orders.dead"}
	for range 2 {
		parking, err := b.mover.DeclareParking(t.Context(), dead)
		if err != nil || parking.Name != "dedup.parking.orders.dead" || !parking.Durable || parking.Type != "classic" {
			t.Fatalf("%+v, %v", parking, err)
		}
	}
	must(t, b.rabbit.PutPolicy(t.Context(), "/", "ttl", servers.Policy{Pattern: "parking", Definition: map[string]any{"message-ttl": 1000}, ApplyTo: "queues"}))
	defer b.rabbit.API(t.Context(), http.MethodDelete, "/api/policies/"+broker.APIPath("/", "ttl"), nil, nil)
	var err error
	eventually(t, "the policy applies", func() bool { _, err = b.mover.DeclareParking(t.Context(), dead); return err != nil })
	checkAct(t, err, broker.NotPossible, "message-ttl 1000")
}
