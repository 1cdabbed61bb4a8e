package live

import (
	"context"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/lab/servers"
)

// checkQuiet has two consumers of one queue take messages; one acks each, the other none until it is told to.
func checkQuiet(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) {
	reader := watching(t, rabbit, "work")
	connection := dial(t, rabbit)
	fill(ctx, t, connection, "work", 0, nil)
	readReal(ctx, t, reader)
	consume := func() <-chan amqp.Delivery {
		channel, err := connection.Channel()
		if err == nil {
			err = channel.Qos(1, 0, false)
		}
		var deliveries <-chan amqp.Delivery
		if err == nil {
			deliveries, err = channel.Consume("work", "", false, false, false, false, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		return deliveries
	}
	hangs, goesOn := consume(), consume()
	fill(ctx, t, connection, "work", 2, nil)
	held, waits := <-hangs, <-goesOn
	// later reads until the channels have been quiet since a time that is later than that, while the one that goes on acks and takes the next.
	later := func(than time.Time) time.Time {
		for {
			if err := waits.Ack(false); err != nil {
				t.Fatal(err)
			}
			fill(ctx, t, connection, "work", 1, nil)
			waits = <-goesOn
			reading := readReal(ctx, t, reader)
			if count, ok := reading.Count(ref("work")); ok && count.Quiet.After(than) {
				return count.Quiet
			}
			time.Sleep(50 * time.Millisecond) // the channels tell of themselves every five seconds
		}
	}
	since := later(time.Time{}) // both have rows
	for range 5 {
		if again := later(time.Time{}); again.Equal(since) {
			break
		} else {
			since = again // the row of the other one came later
		}
	}
	for range 20 {
		if again := later(time.Time{}); !again.Equal(since) {
			t.Fatalf("one channel acks nothing since %v, and yet all have acked since %v", since, again)
		}
	}
	if err := held.Ack(false); err != nil {
		t.Fatal(err)
	}
	fill(ctx, t, connection, "work", 1, nil)
	<-hangs // it holds another one from now on
	later(since)
}
