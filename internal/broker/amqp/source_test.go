package amqp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

func (b *movingBroker) takesAll(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "all.dead", nil)
	fill(t, channel, queue.Name, "m", 1000)
	source, err := b.mover.Source(t.Context(), queue, 100, false)
	must(t, err)
	for i := range 1000 {
		d, err := source.Next(t.Context())
		must(t, err)
		if want := fmt.Sprintf("m-%d", i); d.MessageID != want || d.Left != -1 {
			t.Fatalf("got %s with %d left, want %s", d.MessageID, d.Left, want)
		}
		must(t, source.Ack(d.Tag))
	}
	if _, err := source.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("got %v at the end", err)
	}
	if err := source.Ack(1); err == nil {
		t.Error("a delivery was acked twice")
	}
	must(t, source.Close())
	must(t, source.Close())
	if n := depth(t, channel, queue.Name); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

func (b *movingBroker) givesBack(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "back.dead", nil)
	fill(t, channel, queue.Name, "m", 50)
	source, err := b.mover.Source(t.Context(), queue, 20, false)
	must(t, err)
	var tags []uint64
	for range 5 {
		d, err := source.Next(t.Context())
		must(t, err)
		tags = append(tags, d.Tag)
	}
	must(t, source.Ack(tags[1]))
	must(t, source.Close())
	eventually(t, "49 messages are back", func() bool { return depth(t, channel, queue.Name) == 49 })
	for i := range 50 {
		if i == 1 {
			continue
		}
		d, _, err := channel.Get(queue.Name, true)
		must(t, err)
		if want := fmt.Sprintf("m-%d", i); d.MessageId != want {
			t.Fatalf("got %s, want %s: the order changed", d.MessageId, want)
		}
	}
}

func (b *movingBroker) excludes(t *testing.T) {
	queue := declare(t, b.admin(t), "two.dead", nil)
	first, err := b.mover.Source(t.Context(), queue, 10, false)
	must(t, err)
	_, err = b.mover.Source(t.Context(), queue, 10, false)
	checkAct(t, err, broker.InUse, "another run has it for itself")
	if dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("kind %s", dedup.KindOf(err))
	}
	must(t, first.Close())
	second, err := b.mover.Source(t.Context(), queue, 10, false)
	must(t, err)
	must(t, second.Close())
}

func (b *movingBroker) singleActive(t *testing.T) {
	channel := b.admin(t)
	for _, kind := range []string{"classic", "quorum"} {
		queue := declare(t, channel, "active.dead."+kind, amqp.Table{"x-queue-type": kind, "x-single-active-consumer": true})
		fill(t, channel, queue.Name, "m", 10)
		source, err := b.mover.Source(t.Context(), queue, 2, false)
		must(t, err)
		for range 10 {
			d, err := source.Next(t.Context())
			must(t, err)
			must(t, source.Ack(d.Tag))
		}
		_, err = source.Next(t.Context())
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v at the end", kind, err)
		}
		must(t, source.Close())

		other := b.admin(t) // an application that takes two and is slow
		must(t, other.Qos(2, 0, false))
		_, err = other.Consume(queue.Name, "", false, false, false, false, nil)
		must(t, err)
		fill(t, channel, queue.Name, "n", 10)
		source, err = b.mover.Source(t.Context(), queue, 2, false)
		must(t, err)
		source.patience = time.Second
		_, err = source.Next(t.Context())
		checkAct(t, err, broker.InUse, "has sent none for 1s")
		must(t, source.Close())
	}
}

func (b *movingBroker) takesSingle(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "single.dead", nil)
	fill(t, channel, queue.Name, "m", 10)
	source, err := b.mover.Source(t.Context(), queue, 2, true)
	must(t, err)
	first, err := source.Next(t.Context())
	must(t, err)
	if first.Left != 9 || depth(t, channel, queue.Name) != 9 {
		t.Errorf("%d left, %d ready", first.Left, depth(t, channel, queue.Name))
	}
	second, err := source.Next(t.Context())
	must(t, err)
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := source.Next(brief); !errors.Is(err, context.DeadlineExceeded) || depth(t, channel, queue.Name) != 8 {
		t.Errorf("a third is not waited for while two may be held: %v, %d ready", err, depth(t, channel, queue.Name))
	}
	must(t, source.Ack(second.Tag))
	third, err := source.Next(t.Context())
	must(t, err)
	must(t, source.Ack(third.Tag))
	must(t, source.Close())
	eventually(t, "eight are back", func() bool { return depth(t, channel, queue.Name) == 8 })
}

func (b *movingBroker) deletedUnderSource(t *testing.T) {
	channel := b.admin(t)
	for _, single := range []bool{false, true} {
		queue := declare(t, channel, "gone.dead", nil)
		source, err := b.mover.Source(t.Context(), queue, 10, single)
		must(t, err)
		_, err = channel.QueueDelete(queue.Name, false, false, false)
		must(t, err)
		for err = io.EOF; errors.Is(err, io.EOF); {
			_, err = source.Next(t.Context())
		}
		checkAct(t, err, broker.NoQueue, "no queue")
		if err := source.Close(); single {
			checkAct(t, err, broker.NoQueue, "no queue")
		} else {
			must(t, err) // the consumer has ended and the channel has not
		}
	}
}

func (b *movingBroker) deniesStreams(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "read.stream.dead", amqp.Table{"x-queue-type": "stream"})
	fill(t, channel, queue.Name, "m", 1)
	source, err := b.mover.Source(t.Context(), queue, 10, true)
	must(t, err)
	_, err = source.Next(t.Context())
	checkAct(t, err, broker.NotPossible, "this kind of queue cannot do it")
	checkAct(t, source.Close(), broker.NotPossible, "this kind of queue cannot do it")
	must(t, source.Close())
}
