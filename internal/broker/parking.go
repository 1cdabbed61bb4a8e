package broker

import (
	"context"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
)

// DeclareParking declares the parking queue of a dead-letter queue, durable and classic by name, and returns it as the broker then
// describes it. An error of kind Conflict says how it could drop a message: a policy may apply to it.
func (m *Mover) DeclareParking(ctx context.Context, deadLetters dedup.QueueRef) (dedup.Queue, error) {
	parking, err := dedup.ParkingQueue(deadLetters)
	if err != nil {
		return dedup.Queue{}, err
	}
	what := fmt.Sprintf("declare the parking queue %s in vhost %s", quote(parking.Name), quote(parking.Vhost))
	l, err := m.open(ctx, parking.Vhost, "move", what)
	if err != nil {
		return dedup.Queue{}, err
	}
	const durable, autoDelete, exclusive, noWait = true, false, false, false
	_, err = l.channel.QueueDeclare(parking.Name, durable, autoDelete, exclusive, noWait, amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeClassic})
	if err != nil {
		err = l.fail(err)
	}
	_ = l.close()
	if err != nil {
		return dedup.Queue{}, err
	}
	queue, err := m.watch.Queue(ctx, parking)
	if err != nil {
		return dedup.Queue{}, err
	}
	if why := dedup.MayDrop(queue); why != "" {
		return queue, &Error{Kind: NotPossible, Broker: m.name, Request: what, Text: "what is put there could be lost: " + why,
			Mend: `take the policies off queues that match ^dedup\.parking\.`}
	}
	return queue, nil
}
