package shop

import (
	"context"
	"fmt"
	"regexp"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/lab/servers"
)

// deadLetterExchange is the direct exchange of the pipelines whose dead letters go by a policy, or are examined.
const deadLetterExchange = "shop.dead"

// declareTopology makes the queues, dead-letter queues and policies of all pipelines. It can be repeated.
func declareTopology(ctx context.Context, broker *servers.RabbitMQ, config Config) error {
	for _, pipeline := range config.Pipelines {
		if !pipeline.DeadLetterPolicy {
			continue
		}
		policy := servers.Policy{Pattern: "^" + regexp.QuoteMeta(pipeline.Name) + "$", ApplyTo: "queues", Definition: pipeline.deathRules()}
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
	if err := declareQueue(channel, dead, pipeline.queueType()); err != nil {
		return err
	}
	if pipeline.DeadLetterPolicy || pipeline.examined() {
		if err := channel.QueueBind(dead, pipeline.Name, deadLetterExchange, false, nil); err != nil {
			return err
		}
	}
	if pipeline.examined() {
		if err := declareQueue(channel, examinedQueue, nil); err != nil {
			return err
		}
		if err := channel.QueueBind(examinedQueue, pipeline.Name, deadLetterExchange, false, nil); err != nil {
			return err
		}
	}
	if pipeline.RetryDelay > 0 {
		back := amqp.Table{"x-message-ttl": pipeline.RetryDelay.Milliseconds(), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": pipeline.Name}
		if err := declareQueue(channel, pipeline.RetryQueue(), back); err != nil {
			return err
		}
	}
	arguments := pipeline.queueType()
	if !pipeline.DeadLetterPolicy {
		for key, value := range pipeline.deathRules() {
			arguments["x-"+key] = value
		}
	}
	return declareQueue(channel, pipeline.Name, arguments)
}

func declareQueue(channel *amqp.Channel, name string, arguments amqp.Table) error {
	if _, err := channel.QueueDeclare(name, true, false, false, false, arguments); err != nil {
		return fmt.Errorf("declare queue %s: %w", name, err)
	}
	return nil
}

// queueType are the arguments that a policy cannot set.
func (p PipelineConfig) queueType() amqp.Table {
	if p.DeliveryLimit > 0 {
		return amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeQuorum}
	}
	return amqp.Table{}
}

// deathRules say when and where to a message of the source dies, with the names that a policy has for them.
func (p PipelineConfig) deathRules() map[string]any {
	rules := map[string]any{"dead-letter-exchange": "", "dead-letter-routing-key": p.DeadLetterQueue()}
	switch {
	case p.RetryDelay > 0:
		rules["dead-letter-routing-key"] = p.RetryQueue()
	case p.DeadLetterMissing:
		rules["dead-letter-exchange"] = p.Name + ".dead"
	case p.DeadLetterPolicy || p.examined():
		rules["dead-letter-exchange"], rules["dead-letter-routing-key"] = deadLetterExchange, p.Name
	}
	for key, limit := range map[string]int64{
		"delivery-limit": int64(p.DeliveryLimit), "message-ttl": p.MessageTTL.Milliseconds(), "max-length": int64(p.MaxLength),
	} {
		if limit > 0 {
			rules[key] = limit
		}
	}
	return rules
}
