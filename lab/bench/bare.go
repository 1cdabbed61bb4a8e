package main

import (
	"context"
	"errors"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/admin/requeue"
)

// bareAcks is how many messages a bare client acks at once.
const bareAcks = 32

// A flight is a message on its way to its target.
type flight struct {
	tag     uint64
	confirm *amqp.DeferredConfirmation
}

// bare moves as the engine does, two connections, confirms and the same window, and does nothing else: it decides nothing, checks no
// return, signs no header and survives nothing. It is the most that a client outside of the broker can reach with such a window.
func (r *requeueRace) bare(_ context.Context, letters int) error {
	user, password := r.server.Admin()
	consuming, err := amqp.Dial(r.server.AMQPURL(user, password))
	if err != nil {
		return err
	}
	defer consuming.Close()
	source, err := consuming.Channel()
	if err == nil {
		err = source.Qos(requeue.MaxWindow, 0, false)
	}
	if err != nil {
		return err
	}
	deliveries, err := source.Consume(deadQueue, "", false, true, false, false, nil)
	if err != nil {
		return err
	}
	flying, acked := make(chan flight, requeue.MaxWindow), make(chan error, 1)
	go func() { acked <- ackConfirmed(source, flying) }()
	err = r.send(deliveries, letters, flying)
	close(flying)
	return errors.Join(err, <-acked)
}

// send publishes what is delivered, over the connection that filled the queue.
func (r *requeueRace) send(deliveries <-chan amqp.Delivery, letters int, flying chan<- flight) error {
	for range letters {
		d, open := <-deliveries
		if !open {
			return errors.New("the broker ended the consumer")
		}
		confirm, err := r.channel.PublishWithDeferredConfirm("", workQueue, true, false, amqp.Publishing{
			Headers: d.Headers, MessageId: d.MessageId, DeliveryMode: amqp.Persistent, ContentType: d.ContentType, Timestamp: d.Timestamp, Body: d.Body,
		})
		if err != nil {
			return err
		}
		flying <- flight{d.DeliveryTag, confirm}
	}
	return nil
}

// ackConfirmed acks what its target has confirmed, some at once.
func ackConfirmed(source *amqp.Channel, flying <-chan flight) error {
	defer func() { // after an error the sender must not wait for a reader that has gone
		for range flying {
		}
	}()
	var last uint64
	waiting := 0
	ack := func() error {
		if waiting == 0 {
			return nil
		}
		waiting = 0
		return source.Ack(last, true)
	}
	for f := range flying {
		if !f.confirm.Wait() {
			return errors.New("the broker did not take a message")
		}
		last = f.tag
		if waiting++; waiting == bareAcks {
			if err := ack(); err != nil {
				return err
			}
		}
	}
	return ack()
}
