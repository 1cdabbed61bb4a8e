package amqp

import (
	"bytes"
	"fmt"
	"net"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// peeker opens a peek by hand, so that a test can step between what a real one does in one go.
func (b *movingBroker) peeker(t *testing.T, queue dedup.QueueRef, limit int, maxBytes int64) *peeker {
	t.Helper()
	return b.peekerThrough(t, queue, limit, maxBytes, message.MaxPeekedBody)
}

// peekerThrough is peeker with a bound of its own for one body.
func (b *movingBroker) peekerThrough(t *testing.T, queue dedup.QueueRef, limit int, maxBytes, each int64) *peeker {
	t.Helper()
	described, err := b.mover.watch.Queue(t.Context(), queue)
	must(t, err)
	var s *bodyFilter
	l, err := b.mover.openThrough(t.Context(), queue.Vhost, "peek", "look at a queue", func(conn net.Conn) net.Conn {
		s = newBodyFilter(conn, each, maxBytes)
		return s
	})
	must(t, err)
	t.Cleanup(l.Abort)
	return &peeker{link: l, bodies: s, described: described, limit: limit, maxBytes: maxBytes, peek: dedup.Peek{Queue: queue, At: time.Now()}}
}

// drain empties a queue and returns its message ids in order, and how many had been handed out before.
func drain(t *testing.T, channel *amqp.Channel, queue string) (ids []string, handedOut int) {
	t.Helper()
	for {
		d, ok, err := channel.Get(queue, true)
		must(t, err)
		if !ok {
			return ids, handedOut
		}
		if d.Redelivered {
			handedOut++
		}
		ids = append(ids, d.MessageId)
	}
}

func numbered(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return ids
}

func (b *movingBroker) peeksAtTenThousand(t *testing.T) {
	const n = 10_000
	channel := b.admin(t)
	kinds := map[string]amqp.Table{
		"many.dead": nil, "many.lazy.dead": {"x-queue-mode": "lazy"}, "many.priority.dead": {"x-max-priority": int32(3)},
		"many.active.dead": {"x-single-active-consumer": true}, // whose messages are got one by one
	}
	for name, arguments := range kinds {
		declare(t, channel, name, arguments) // all at once: the broker describes new queues every 5 s
		fill(t, channel, name, "m", n)
	}
	for name := range kinds {
		queue := dedup.QueueRef{Vhost: "/", Name: name}
		b.described(t, queue)
		begun := time.Now()
		peek, err := b.mover.Peek(t.Context(), queue, n, 64<<20)
		took := time.Since(begun)
		ready := depth(t, channel, queue.Name)
		t.Logf("%s: %d messages in %s, held for %s; ready again %s after the answer", name, len(peek.Messages), took, peek.Took, time.Since(begun)-took)
		if err != nil || len(peek.Messages) != n || peek.Ready != n || peek.Short != "" {
			t.Fatalf("%s: %d messages of %d, %q, %v", name, len(peek.Messages), peek.Ready, peek.Short, err)
		}
		if ready != n {
			t.Errorf("%s: %d are ready at the answer", name, ready)
		}
		ids, _ := drain(t, channel, queue.Name)
		for i, want := range numbered("m", n) {
			if i >= len(ids) || ids[i] != want || peek.Messages[i].MessageID != want {
				t.Fatalf("%s: message %d is not in its place", name, i)
			}
		}
	}
}

func (b *movingBroker) givesBackSingles(t *testing.T) {
	const n = 4000
	channel := b.admin(t)
	queue := declare(t, channel, "singles.dead", nil)
	fill(t, channel, queue.Name, "m", n)
	source, err := b.mover.Source(t.Context(), queue, n, true)
	must(t, err)
	for range n {
		d, err := source.Next(t.Context())
		must(t, err)
		if d.Tag == 1000 {
			must(t, source.Ack(d.Tag))
		}
	}
	must(t, source.Close())
	if ready := depth(t, channel, queue.Name); ready != n-1 {
		t.Errorf("%d are ready right after it was closed", ready)
	}
	ids, _ := drain(t, channel, queue.Name)
	if len(ids) != n-1 || ids[0] != "m-0" || ids[998] != "m-998" || ids[999] != "m-1000" || ids[n-2] != fmt.Sprintf("m-%d", n-1) {
		t.Errorf("%d came back, from %s to %s", len(ids), ids[0], ids[len(ids)-1])
	}
}

func (b *movingBroker) sparesAutoDelete(t *testing.T) {
	const n = 40
	channel := b.admin(t)
	const durable, autoDelete, exclusive, noWait = true, true, false, false
	_, err := channel.QueueDeclare("leaving.dead", durable, autoDelete, exclusive, noWait, nil)
	must(t, err)
	queue := dedup.QueueRef{Vhost: "/", Name: "leaving.dead"}
	fill(t, channel, queue.Name, "m", n)
	b.described(t, queue)
	peek, err := b.mover.Peek(t.Context(), queue, n, 1<<20)
	must(t, err)
	if ready := depth(t, channel, queue.Name); len(peek.Messages) != n || ready != n {
		t.Fatalf("%d were seen, and %d are ready", len(peek.Messages), ready)
	}
	source, err := b.mover.Source(t.Context(), queue, n, false)
	must(t, err)
	for range 3 {
		d, err := source.Next(t.Context())
		must(t, err)
		if d.Tag == 1 {
			must(t, source.Ack(d.Tag))
		}
	}
	must(t, source.Close())
	if ready := depth(t, channel, queue.Name); ready != n-1 {
		t.Errorf("%d are ready after one was taken", ready)
	}
}

func (b *movingBroker) peeksWithinBytes(t *testing.T) {
	const n, size, most = 300, 100 << 10, 1 << 20
	channel := b.admin(t)
	queue := declare(t, channel, "large.dead", nil)
	must(t, channel.Confirm(false))
	for i := range n {
		sent, err := channel.PublishWithDeferredConfirm("", queue.Name, true, false, amqp.Publishing{
			MessageId: fmt.Sprintf("m-%d", i), DeliveryMode: amqp.Persistent, Body: bytes.Repeat([]byte("x"), size),
		})
		must(t, err)
		if i == n-1 {
			sent.Wait()
		}
	}
	b.described(t, queue)
	peek, err := b.mover.Peek(t.Context(), queue, n, most)
	must(t, err)
	if got := len(peek.Messages); got < most/size || got > most/size+1 || peek.Short == "" || peek.Ready != n {
		t.Errorf("%d messages of %d, %q", got, peek.Ready, peek.Short)
	}
	ids, handedOut := drain(t, channel, queue.Name)
	if len(ids) != n || handedOut > firstSlice {
		t.Errorf("%d are left, and %d were handed out for %d bytes", len(ids), handedOut, most)
	}
	t.Logf("%d were handed out, %d looked at", handedOut, len(peek.Messages))

	fill(t, channel, queue.Name, "m", 1)
	peek, err = b.mover.Peek(t.Context(), queue, n, 1)
	if err != nil || len(peek.Messages) != 1 || peek.Short != "" {
		t.Errorf("of one message beyond the bytes %d were looked at, %q, %v", len(peek.Messages), peek.Short, err)
	}
}

func (b *movingBroker) peeksBesideConsumers(t *testing.T) {
	for name, c := range map[string]struct {
		exclusive bool
		says      string
		want      int
	}{
		"a consumer":                        {false, "somebody began to consume from the queue", firstSlice},
		"a consumer that has it for itself": {true, "", 199},
	} {
		t.Run(name, func(t *testing.T) {
			channel := b.admin(t)
			queue := declare(t, channel, "beside.dead", nil)
			fill(t, channel, queue.Name, "m", 200)
			b.described(t, queue)
			p := b.peeker(t, queue, 500, 1<<20)
			other := b.admin(t)
			must(t, other.Qos(1, 0, false))
			theirs, err := other.Consume(queue.Name, "theirs", false, c.exclusive, false, false, nil)
			must(t, err)
			first := <-theirs
			// The peek has seen no consumer when it begins.
			peek, err := p.run(t.Context(), amqp.Queue{Name: queue.Name, Messages: 200})
			if err != nil || len(peek.Messages) != c.want || peek.Short != c.says {
				t.Errorf("%d messages, %q, %v", len(peek.Messages), peek.Short, err)
			}
			eventually(t, "they are back", func() bool { return depth(t, channel, queue.Name) == 199 })
			must(t, first.Ack(false))
			if next := <-theirs; next.MessageId != "m-1" {
				t.Errorf("the consumer gets %s next", next.MessageId)
			}
			peek, err = b.mover.Peek(t.Context(), queue, 500, 1<<20) // which sees that there is one
			if err != nil || len(peek.Messages) != 198 || peek.Short != "" {
				t.Errorf("beside it: %d messages, %q, %v", len(peek.Messages), peek.Short, err)
			}
			_, err = channel.QueueDelete(queue.Name, false, false, false)
			must(t, err)
		})
	}
}

func (b *movingBroker) peekIsCutShort(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "short.dead", nil)
	fill(t, channel, queue.Name, "m", 100)
	b.described(t, queue)

	p := b.peeker(t, queue, 500, 1<<20)
	_, err := p.slice(t.Context(), 10)
	must(t, err)
	if p.held != 10 || depth(t, channel, queue.Name) != 90 {
		t.Errorf("%d are held", p.held)
	}
	p.link.Abort()
	if _, err = p.run(t.Context(), amqp.Queue{Messages: 90}); broker.KindOf(err) != broker.Interrupted {
		t.Errorf("without a connection: %v", err)
	}
	eventually(t, "all are back", func() bool { return depth(t, channel, queue.Name) == 100 })

	p = b.peeker(t, queue, 500, 1<<20)
	_, err = p.slice(t.Context(), 10)
	must(t, err)
	_, err = channel.QueueDelete(queue.Name, false, false, false)
	must(t, err)
	_, err = p.run(t.Context(), amqp.Queue{Messages: 90})
	checkAct(t, err, broker.NoQueue, "no queue")
}
