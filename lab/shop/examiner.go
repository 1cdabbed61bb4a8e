package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// examinedQueue gets a copy of each dead letter of the pipelines in which the broker decides who dies, beside their
// dead-letter queues: only the broker knows which message was too old or one too many.
const examinedQueue = "shop.deaths"

// An examiner tells the ledger of each death that the broker makes known in examinedQueue.
type examiner struct {
	ledger *Ledger
	link   link
	log    *slog.Logger
}

// run examines until ctx ends.
func (x *examiner) run(ctx context.Context) {
	defer x.link.close()
	for ctx.Err() == nil {
		if err := x.session(ctx); err != nil && ctx.Err() == nil {
			x.log.Warn("the examiner of deaths lost its channel", "err", err)
			wait(ctx, 200*time.Millisecond)
		}
	}
}

func (x *examiner) session(ctx context.Context) error {
	channel, err := x.link.channel()
	if err != nil {
		return err
	}
	defer channel.Close()
	if err := channel.Qos(100, 0, false); err != nil {
		return fmt.Errorf("set the prefetch: %w", err)
	}
	deliveries, err := channel.Consume(examinedQueue, "examiner", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case delivery, ok := <-deliveries:
			if !ok {
				return errors.New("the channel was closed")
			}
			x.examine(delivery)
			if err := delivery.Ack(false); err != nil {
				return fmt.Errorf("ack: %w", err)
			}
		}
	}
}

// examine counts one death. The dead-letter routing key is the pipeline's name.
func (x *examiner) examine(delivery amqp.Delivery) {
	entry, ok := x.ledger.entries[delivery.RoutingKey]
	reason := reasonOf(delivery.Headers)
	if !ok || reason == "" {
		x.log.Warn("a message came to be examined without having died here", "key", delivery.RoutingKey, "id", delivery.MessageId)
		return
	}
	entry.died(copyOf(delivery), reason, delivery.Redelivered)
}

// reasonOf returns the reason of the newest death, empty if there is none that can be read.
func reasonOf(headers amqp.Table) string {
	deaths, _ := headers["x-death"].([]any)
	if len(deaths) == 0 {
		return ""
	}
	newest, _ := deaths[0].(amqp.Table)
	reason, _ := newest["reason"].(string)
	return reason
}
