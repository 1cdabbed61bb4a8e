package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// produce sends until the context ends.
func (p *pipeline) produce(ctx context.Context) {
	switch {
	case p.silent:
	case p.burst > 0:
		for ok := sleep(ctx, 3*time.Second); ok; ok = sleep(ctx, p.burstEach) {
			for range p.burst {
				p.order(ctx)
			}
		}
	default:
		for sleep(ctx, time.Duration(rand.ExpFloat64()*float64(time.Second)/p.rate)) {
			p.order(ctx)
		}
	}
}

// order sends a new message, and perhaps a copy of it.
func (p *pipeline) order(ctx context.Context) {
	p.orders++
	id := fmt.Sprintf("%s-%06d-%04x", p.name, p.orders, rand.IntN(1<<16))
	p.sendNew(id)
	if rand.Float64() >= p.again {
		return
	}
	if p.twins {
		p.sendNew(id)
		return
	}
	time.AfterFunc(p.after.pick(), func() {
		if ctx.Err() == nil {
			p.sendNew(id)
		}
	})
}

func (p *pipeline) sendNew(id string) {
	key := p.queues[int(id[len(id)-1])%len(p.queues)]
	if p.exchange != "" {
		key = "created"
	}
	p.note("publish", p.send(p.exchange, key, id, nil))
}

// sendTo publishes to a queue.
func (p *pipeline) sendTo(queue, id string, headers amqp.Table) error {
	return p.send("", queue, id, headers)
}

// send publishes a copy, which has a number of its own.
func (p *pipeline) send(exchange, key, id string, headers amqp.Table) error {
	if headers == nil {
		headers = amqp.Table{}
	}
	headers["x-copy"] = p.copies.Add(1)
	m := amqp.Publishing{
		Headers: headers, MessageId: id, Timestamp: time.Now(), DeliveryMode: amqp.Persistent, ContentType: "application/json",
		Body: []byte(`{"order": "` + id + `", "amount": 12.5}`),
	}
	if p.jsonID {
		m.MessageId = ""
		m.Body = []byte(`{"event": {"id": "` + id + `", "type": "created"}}`)
	}
	if p.priority {
		m.Priority = uint8(rand.IntN(6))
	}
	p.publishing.Lock()
	defer p.publishing.Unlock()
	return p.publisher.PublishWithContext(context.Background(), exchange, key, false, false, m) // also of a consumer that dies
}
