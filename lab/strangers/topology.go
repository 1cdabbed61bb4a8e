package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A declaration makes something in the broker.
type declaration func(ch *amqp.Channel) error

// dial opens a connection with one channel; closing the connection ends both.
func dial(url string) (*amqp.Connection, *amqp.Channel, error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, nil, err
	}
	ch, err := conn.Channel()
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, ch, nil
}

// declare makes all that the pipeline needs.
func (p *pipeline) declare(ch *amqp.Channel) error {
	all := inOrder(p.more)
	for _, q := range p.queues {
		all = inOrder(all, queue(q, p.args))
	}
	if err := all(ch); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

func inOrder(all ...declaration) declaration {
	return func(ch *amqp.Channel) error {
		for _, declare := range all {
			if declare == nil {
				continue
			}
			if err := declare(ch); err != nil {
				return err
			}
		}
		return nil
	}
}

func queue(name string, args amqp.Table) declaration {
	return func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, args)
		return err
	}
}

// delay declares a queue that gives back to another one after a while.
func delay(name, back string, ttl int32) declaration {
	return queue(name, deadLetters(back, amqp.Table{"x-message-ttl": ttl}))
}

// fanOut declares an exchange that copies to queues.
func fanOut(name string, queues ...string) declaration {
	return func(ch *amqp.Channel) error {
		if err := ch.ExchangeDeclare(name, "fanout", true, false, false, false, nil); err != nil {
			return err
		}
		for _, q := range queues {
			if err := queue(q, nil)(ch); err != nil {
				return err
			}
			if err := ch.QueueBind(q, "", name, false, nil); err != nil {
				return err
			}
		}
		return nil
	}
}

// deadLetters are the arguments of a queue whose dead letters go to another one.
func deadLetters(to string, more amqp.Table) amqp.Table {
	t := amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": to}
	maps.Copy(t, more)
	return t
}

// withDLQ has a dead-letter queue NAME.dlq; more are further arguments of the source.
func withDLQ(name string, more amqp.Table) topology {
	dlq := name + ".dlq"
	return topology{args: deadLetters(dlq, more), more: queue(dlq, nil), dead: []string{dlq}}
}

// withParking rejects into the queue NAME.wait, which gives back after some milliseconds, and parks in NAME.parking.
func withParking(name string, ttl int32) topology {
	wait, parking := name+".wait", name+".parking"
	return topology{args: deadLetters(wait, nil), more: inOrder(delay(wait, name, ttl), queue(parking, nil)), dead: []string{parking}}
}

// named tells the dashboard of the dead-letter queues.
func (t topology) named() topology {
	t.deadNamed = true
	return t
}

// deaths is how often a message was rejected in a queue.
func deaths(headers amqp.Table, queue string) int {
	list, _ := headers["x-death"].([]any)
	for _, d := range list {
		if t, ok := d.(amqp.Table); ok && t["queue"] == queue && t["reason"] == "rejected" {
			n, _ := t["count"].(int64)
			return int(n)
		}
	}
	return 0
}

// watchDepths writes down the depths of dead-letter queues each second.
func watchDepths(ctx context.Context, url string, pipelines []*pipeline) {
	for ctx.Err() == nil {
		conn, ch, err := dial(url)
		if err == nil {
			lookAtDepths(ctx, ch, pipelines)
			conn.Close()
		}
		sleep(ctx, time.Second)
	}
}

// lookAtDepths goes on until the channel breaks, which it does at a queue that is missing.
func lookAtDepths(ctx context.Context, ch *amqp.Channel, pipelines []*pipeline) {
	for !ch.IsClosed() {
		for _, p := range pipelines {
			for _, q := range p.dead {
				info, err := ch.QueueDeclarePassive(q, true, false, false, false, nil)
				if err != nil {
					p.note("depth", err)
					break
				}
				p.ledger.add(event{Kind: kindDepth, Q: q, N: int64(info.Messages)})
			}
		}
		if !sleep(ctx, time.Second) {
			return
		}
	}
}
