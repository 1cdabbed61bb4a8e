package main

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// byHand is what people do with a channel of their own.
func byHand(do func(ctx context.Context, p *pipeline, ch *amqp.Channel) error) func(context.Context, *pipeline) {
	return func(ctx context.Context, p *pipeline) {
		conn, ch, err := dial(p.url)
		if err != nil {
			p.note("by hand", err)
			return
		}
		defer conn.Close()
		p.note("by hand", do(ctx, p, ch))
	}
}

// purgeAndMove stops the consumers twice: first what waits is purged, then some of it is moved.
func purgeAndMove(ctx context.Context, p *pipeline, ch *amqp.Channel) error {
	if !sleep(ctx, 150*sec) {
		return nil
	}
	p.paused.Store(true)
	sleep(ctx, 12*sec)
	n, err := ch.QueuePurge(p.queues[0], false)
	p.ledger.add(event{Kind: kindPurge, N: int64(n)})
	p.paused.Store(false)
	if err != nil || !sleep(ctx, 70*sec) {
		return err
	}
	p.moveAside(ctx, ch, 10*sec)
	return nil
}

// move stops the consumers for a while and moves what waits; keep leaves the channel open after that.
func move(keep bool) func(context.Context, *pipeline) {
	do := byHand(func(ctx context.Context, p *pipeline, ch *amqp.Channel) error {
		p.moveAside(ctx, ch, 8*sec)
		if keep {
			<-ctx.Done()
		}
		return nil
	})
	return func(ctx context.Context, p *pipeline) {
		if sleep(ctx, 90*sec) {
			do(ctx, p)
		}
	}
}

// moveAside moves up to 80 messages into the queue NAME.aside, once the consumers have paused for some time.
func (p *pipeline) moveAside(ctx context.Context, ch *amqp.Channel, pause time.Duration) {
	p.paused.Store(true)
	defer p.paused.Store(false)
	sleep(ctx, pause)
	source := p.queues[0]
	for range 80 {
		d, ok, err := ch.Get(source, false)
		if err != nil || !ok {
			p.note("move", err)
			return
		}
		p.note("move", p.sendTo(source+".aside", d.MessageId, nil))
		came := now()
		if d.Ack(false) == nil {
			p.ledger.ack(event{How: howMoved, ID: d.MessageId, Came: came})
		}
	}
}

// moveBack publishes dead letters back each half a minute, as a shovel does.
func moveBack(ctx context.Context, p *pipeline, ch *amqp.Channel) error {
	for sleep(ctx, 30*sec) {
		for {
			d, ok, err := ch.Get(p.dead[0], false)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			p.note("mover", p.sendTo(p.queues[0], d.MessageId, d.Headers))
			if d.Ack(false) == nil {
				p.ledger.add(event{Kind: kindTake, Q: p.dead[0], N: 1})
			}
		}
	}
	return nil
}
