package amqp

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

const (
	// settleTimeout is how long the broker is given to tell the policy of a new queue, which it does every 5 s by default.
	settleTimeout = 15 * time.Second
	settlePoll    = 250 * time.Millisecond
)

// DeclareParking declares the parking queue of a dead-letter queue, durable and classic by name, and returns it as the broker then
// describes it. An error of kind Conflict says how it could drop a message: a policy may apply to it.
func (m *Mover) DeclareParking(ctx context.Context, deadLetters dedup.QueueRef) (dedup.Queue, error) {
	parking, err := dedup.ParkingQueue(deadLetters)
	if err != nil {
		return dedup.Queue{}, err
	}
	what := fmt.Sprintf("declare the parking queue %s in vhost %s", broker.Quote(parking.Name), broker.Quote(parking.Vhost))
	l, done, err := m.OpenBriefly(ctx, parking.Vhost, "move", what)
	if err != nil {
		return dedup.Queue{}, err
	}
	const durable, autoDelete, exclusive, noWait = true, false, false, false
	_, err = l.Channel.QueueDeclare(parking.Name, durable, autoDelete, exclusive, noWait, amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeClassic})
	if err != nil {
		err = l.Fail(broker.OrEnd(ctx, err))
	}
	done()
	if err != nil {
		return dedup.Queue{}, err
	}
	queue, err := m.settled(ctx, parking)
	if err != nil {
		return dedup.Queue{}, err
	}
	if why := dedup.MayDrop(queue); why != "" {
		return queue, &broker.Error{Kind: broker.NotPossible, Broker: m.Name, Request: what, Text: "what is put there could be lost: " + why,
			Remedy: `take the policies off queues that match ^dedup\.parking\.`}
	}
	return queue, nil
}

// settled reads a queue once the broker has statistics of it, and with them its policy: a new queue has none for the first 5 s.
func (m *Mover) settled(ctx context.Context, ref dedup.QueueRef) (dedup.Queue, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	ticker := time.NewTicker(settlePoll)
	defer ticker.Stop()
	for {
		queue, err := m.watch.Queue(ctx, ref)
		if err != nil || queue.Messages != nil {
			return queue, err
		}
		select {
		case <-ctx.Done():
			return queue, nil
		case <-ticker.C:
		}
	}
}
