package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// An arrival is a delivery with the time at which it came.
type arrival struct {
	amqp.Delivery
	id       string
	copy, at int64
}

// event is one about this delivery.
func (a arrival) event(kind, how string) event {
	return event{Kind: kind, How: how, ID: a.id, Copy: a.copy, Came: a.at}
}

// arrive notes a delivery.
func (p *pipeline) arrive(d amqp.Delivery) arrival {
	a := arrival{Delivery: d, id: d.MessageId, at: now()}
	a.copy, _ = d.Headers["x-copy"].(int64)
	if p.jsonID {
		var body struct{ Event struct{ ID string } }
		_ = json.Unmarshal(d.Body, &body) // we wrote it
		a.id = body.Event.ID
	}
	p.ledger.arrived(a.copy)
	return a
}

// consume keeps one consumer of a queue going until ctx ends.
func (p *pipeline) consume(ctx context.Context, queue string, number int) {
	for ctx.Err() == nil {
		if p.paused.Load() {
			sleep(ctx, 200*time.Millisecond)
			continue
		}
		if err := p.session(ctx, queue, number); err != nil && ctx.Err() == nil {
			p.note("session", err)
			sleep(ctx, 500*time.Millisecond)
		}
	}
}

// session is one connection of a consumer. It ends gracefully with its parent, and at once with its own life.
func (p *pipeline) session(parent context.Context, queue string, number int) error {
	var raw net.Conn
	conn, err := amqp.DialConfig(p.url, amqp.Config{Dial: func(network, addr string) (c net.Conn, err error) {
		raw, err = amqp.DefaultDial(30*time.Second)(network, addr)
		return raw, err
	}})
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	life, die := context.WithCancel(context.WithoutCancel(parent))
	defer die()
	if p.get {
		return p.poll(parent, life, ch, queue)
	}
	deliveries, err := p.subscribe(ch, queue, number)
	if err != nil {
		return err
	}
	arrivals, first := p.receive(deliveries)
	stop := make(chan struct{})
	go p.supervise(parent, life, first, stop, func() {
		die()
		if tcp, ok := raw.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		raw.Close()
	})
	var workers sync.WaitGroup
	for range max(1, p.workers) {
		workers.Go(func() { (&worker{pipeline: p, ch: ch}).run(life, stop, arrivals) })
	}
	workers.Wait()
	died := life.Err() != nil
	die()
	ch.Close()
	conn.Close()
	for a := range arrivals { // what was prefetched comes back
		p.ledger.add(a.event(kindDied, ""))
	}
	if died || p.failover > 0 {
		sleep(parent, 2*time.Second)
	}
	return nil
}

func (p *pipeline) subscribe(ch *amqp.Channel, queue string, number int) (<-chan amqp.Delivery, error) {
	if err := ch.Qos(p.prefetch, 0, false); err != nil {
		return nil, err
	}
	if p.tx {
		if err := ch.Tx(); err != nil {
			return nil, err
		}
	}
	return ch.Consume(queue, fmt.Sprintf("%s-%d", p.name, number), p.autoAck, false, false, false, nil)
}

// receive takes deliveries as they come, whether a worker is free or not; first is closed at the first one.
func (p *pipeline) receive(deliveries <-chan amqp.Delivery) (<-chan arrival, <-chan struct{}) {
	arrivals, first := make(chan arrival, 100000), make(chan struct{})
	go func() {
		defer close(arrivals)
		begin := sync.OnceFunc(func() { close(first) })
		for d := range deliveries {
			a := p.arrive(d)
			begin()
			arrivals <- a
		}
	}()
	return arrivals, first
}

// supervise ends a session: gracefully by stop with its parent, at a pause or a failover, or by a crash.
func (p *pipeline) supervise(parent, life context.Context, first <-chan struct{}, stop chan<- struct{}, crash func()) {
	var crashed, over <-chan time.Time
	if p.crash > 0 {
		crashed = time.After(p.crash/2 + time.Duration(rand.Int64N(int64(p.crash))))
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-crashed:
			crash()
			return
		case <-first:
			first = nil
			if p.failover > 0 {
				over = time.After(p.failover)
			}
			continue
		case <-tick.C:
			if !p.paused.Load() {
				continue
			}
		case <-parent.Done():
		case <-over:
		}
		close(stop)
		return
	}
}

// poll asks for one message after the other.
func (p *pipeline) poll(parent, life context.Context, ch *amqp.Channel, queue string) error {
	w := &worker{pipeline: p, ch: ch}
	for parent.Err() == nil && !p.paused.Load() {
		d, ok, err := ch.Get(queue, false)
		if err != nil {
			return err
		}
		if !ok {
			sleep(parent, 50*time.Millisecond)
			continue
		}
		w.handle(life, p.arrive(d))
	}
	return nil
}
