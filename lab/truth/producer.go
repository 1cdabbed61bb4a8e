package truth

import (
	"context"
	"fmt"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A producer publishes the messages of one case at an even pace, and some of them again a while later.
type producer struct {
	queue      string
	connection *amqp.Connection
	fate       fate
	tally      *tally
	messages   int
	// over is the time that the messages are spread over.
	over time.Duration
}

// A due copy is the number of a message that is sent at a time.
type due struct {
	n     int
	at    time.Duration
	again bool
}

// plan returns every copy in the order of its time.
func (p *producer) plan() []due {
	var all []due
	for n := range p.messages {
		at := p.due(n)
		all = append(all, due{n: n, at: at})
		if delay, again := p.fate.resend(p.fate.id(n)); again {
			all = append(all, due{n, at + delay, true})
		}
	}
	slices.SortStableFunc(all, func(a, b due) int { return int(a.at - b.at) })
	return all
}

// due is when the n-th message is published first.
func (p *producer) due(n int) time.Duration {
	at := p.over * time.Duration(n) / time.Duration(p.messages)
	if !p.fate.c.Knobs.Bursts {
		return at
	}
	into := at % burstEvery
	return at - into + time.Duration(burstShare*float64(into))
}

// run publishes all copies and returns when the broker has confirmed each.
func (p *producer) run(ctx context.Context) error {
	channel, err := p.connection.Channel()
	if err != nil {
		return fmt.Errorf("producer of %s: open a channel: %w", p.queue, err)
	}
	defer channel.Close()
	if err := channel.Confirm(false); err != nil {
		return fmt.Errorf("producer of %s: ask for confirms: %w", p.queue, err)
	}
	began := time.Now()
	var confirms []*amqp.DeferredConfirmation
	for _, d := range p.plan() {
		if !wait(ctx, time.Until(began.Add(d.at))) {
			return ctx.Err()
		}
		confirm, err := channel.PublishWithDeferredConfirm("", p.queue, true, false, p.message(d))
		if err != nil {
			return fmt.Errorf("producer of %s: publish: %w", p.queue, err)
		}
		confirms = append(confirms, confirm)
		p.tally.update(func(c *Counts) {
			c.Published++
			if d.again {
				c.Resent++
			}
		})
	}
	for _, c := range confirms {
		if acked, err := c.WaitContext(ctx); err != nil || !acked {
			return fmt.Errorf("producer of %s: a message was not confirmed: %w", p.queue, err)
		}
	}
	return nil
}

// copyHeader numbers the copies of a message for the truth: no consumer decides by it.
const copyHeader = "x-truth-copy"

func (p *producer) message(d due) amqp.Publishing {
	copy := int64(0)
	if d.again {
		copy = 1
	}
	m := amqp.Publishing{Headers: amqp.Table{copyHeader: copy}, DeliveryMode: amqp.Persistent, Timestamp: time.Now(),
		ContentType: "application/json", Body: p.fate.body(d.n)}
	if !p.fate.c.Knobs.NoID {
		m.MessageId = p.fate.name(d.n)
	}
	return m
}
