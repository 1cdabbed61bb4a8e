package playground

import (
	"context"
	"fmt"
	"regexp"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/playground/servers"
)

// deadLetterExchange is the direct exchange of the pipelines whose dead letters go by a policy.
const deadLetterExchange = "shop.dead"

// declareTopology makes the queues, dead-letter queues and policies of all pipelines. It can be repeated.
func declareTopology(ctx context.Context, broker *servers.RabbitMQ, config Config) error {
	for _, pipeline := range config.Pipelines {
		if !pipeline.DeadLetterPolicy {
			continue
		}
		policy := servers.Policy{Pattern: "^" + regexp.QuoteMeta(pipeline.Name) + "$", ApplyTo: "queues",
			Definition: map[string]any{"dead-letter-exchange": deadLetterExchange, "dead-letter-routing-key": pipeline.Name}}
		if err := broker.PutPolicy(ctx, "/", pipeline.Name+"-dead-letters", policy); err != nil {
			return fmt.Errorf("declare the shop's queues: %w", err)
		}
	}
	connection, err := amqp.Dial(broker.AMQPURL(broker.Admin()))
	if err != nil {
		return fmt.Errorf("declare the shop's queues: %w", err)
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		return fmt.Errorf("declare the shop's queues: %w", err)
	}
	if err := channel.ExchangeDeclare(deadLetterExchange, amqp.ExchangeDirect, true, false, false, false, nil); err != nil {
		return fmt.Errorf("declare exchange %s: %w", deadLetterExchange, err)
	}
	for _, pipeline := range config.Pipelines {
		if err := declareQueues(channel, pipeline); err != nil {
			return fmt.Errorf("declare the queues of %s: %w", pipeline.Name, err)
		}
	}
	return nil
}

func declareQueues(channel *amqp.Channel, pipeline PipelineConfig) error {
	dead := pipeline.DeadLetterQueue()
	if _, err := channel.QueueDeclare(dead, true, false, false, false, nil); err != nil {
		return err
	}
	var arguments amqp.Table
	if pipeline.DeadLetterPolicy {
		if err := channel.QueueBind(dead, pipeline.Name, deadLetterExchange, false, nil); err != nil {
			return err
		}
	} else {
		arguments = amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
	}
	_, err := channel.QueueDeclare(pipeline.Name, true, false, false, false, arguments)
	return err
}
