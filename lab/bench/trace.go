package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/trace"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
)

const (
	// traceQueue is the queue that is traced, traceRate how many messages per second go through it and traceBody how large they are.
	traceQueue = "traced"
	traceRate  = 500
	traceBody  = 512
	traceTurn  = 6 * time.Second
	traceTurns = 5
)

// A traceRace is what the turns have measured so far: how long the broker worked for a message, by what is done.
type traceRace struct {
	server  *servers.RabbitMQ
	channel *amqp091.Channel
	arrived chan struct{}
	tracer  *trace.Tracer
	// off, on and read are milliseconds of the broker's CPU per message without tracing, with it, and with its copies read.
	off, on, read []float64
	// missed is how many deliveries were counted and not traced, beyond what the counts can be off.
	missed float64
}

// measureTrace measures what tracing costs the broker, off, on and read, in turns.
func measureTrace(ctx context.Context, b *bench) error {
	b.note("tracing %d messages of %d bytes per second", traceRate, traceBody)
	server, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(b.folder, "trace"), Prometheus: true})
	if err != nil {
		return err
	}
	defer server.Kill()
	r := &traceRace{server: server, arrived: make(chan struct{}, traceRate)}
	user, password := server.Admin()
	r.tracer, err = trace.OpenTracer(broker.Config{
		Name: "bench", ManagementURL: server.ManagementURL(), Username: user, Password: secret.New(password), PrometheusURLs: []string{server.PrometheusURL()},
		Act: broker.Act{AMQPURL: "amqp://" + server.AMQPAddr(), Username: user, Password: secret.New(password)},
	}, trace.Options{DataDir: b.folder})
	if err != nil {
		return err
	}
	defer r.tracer.Close()
	leave, err := r.consume()
	if err != nil {
		return err
	}
	defer leave()
	for range traceTurns {
		if err := errors.Join(r.turn(ctx, false, false, &r.off), r.turn(ctx, true, false, &r.on), r.turn(ctx, true, true, &r.read)); err != nil {
			return err
		}
	}
	r.tell(b.table)
	return nil
}

func (r *traceRace) consume() (leave func(), err error) {
	if err := declareQueues(r.server, []string{traceQueue}); err != nil {
		return nil, err
	}
	connection, err := amqp091.Dial(r.server.AMQPURL(r.server.Admin()))
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	var deliveries <-chan amqp091.Delivery
	if r.channel, err = connection.Channel(); err == nil {
		deliveries, err = r.channel.Consume(traceQueue, "", false, false, false, false, nil)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("consume: %w", err), connection.Close())
	}
	go func() {
		for d := range deliveries {
			_ = d.Ack(false)
			r.arrived <- struct{}{}
		}
	}()
	return func() { _ = connection.Close() }, nil
}

// turn lets messages flow, and notes what the broker used for each.
func (r *traceRace) turn(ctx context.Context, on, read bool, used *[]float64) error {
	if err := r.server.API(ctx, http.MethodPut, "/api/vhosts/%2F", map[string]any{"tracing": on}, nil); err != nil {
		return err
	}
	end := func() error { return nil }
	if read {
		var err error
		if end, err = r.trace(ctx); err != nil {
			return err
		}
	}
	before := cpuSeconds(r.server.PID())
	n, err := r.flow(ctx)
	if err == nil {
		*used = append(*used, 1000*(cpuSeconds(r.server.PID())-before)/float64(n))
	}
	return errors.Join(err, end())
}

// trace begins a trace, which finds tracing on; end ends it and counts what it missed.
func (r *traceRace) trace(ctx context.Context) (end func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	began, ended := make(chan struct{}), make(chan error, 1)
	id, err := message.ParseIDSource("message_id")
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		trace, err := r.tracer.Trace(ctx, dedup.TraceRequest{For: dedup.MinTrace, Started: func(time.Time) { close(began) },
			Queues: []dedup.TracedQueue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: traceQueue}, ID: id}}})
		r.missed += max(0, trace.Counted-trace.Traced-trace.Unsure)
		ended <- err
	}()
	end = func() error {
		cancel()
		return <-ended
	}
	select {
	case <-began:
		return end, nil
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("trace: %w", err)
	}
}

// flow publishes each message at its time, and returns how many were delivered.
func (r *traceRace) flow(ctx context.Context) (n int, err error) {
	tick := time.NewTicker(time.Second / traceRate)
	defer tick.Stop()
	body := make([]byte, traceBody)
	for end := time.Now().Add(traceTurn); time.Now().Before(end); n++ {
		<-tick.C
		err := r.channel.PublishWithContext(ctx, "", traceQueue, false, false, amqp091.Publishing{MessageId: fmt.Sprint(n), Body: body})
		if err != nil {
			return n, fmt.Errorf("publish: %w", err)
		}
		select {
		case <-r.arrived:
		case <-ctx.Done():
			return n, ctx.Err()
		}
	}
	return n, nil
}

// tell prints the medians of the turns, each turn against that without tracing beside it.
func (r *traceRace) tell(t *table) {
	on, read := make([]float64, len(r.off)), make([]float64, len(r.off))
	for i, off := range r.off {
		on[i], read[i] = r.on[i]/off, r.read[i]/off
	}
	t.add("trace: CPU of the broker per message, tracing off", middle(r.off), "ms", target{})
	t.add("trace:   times as much with tracing on", middle(on), "", target{})
	t.add("trace:   times as much with tracing on and its copies read", middle(read), "", target{atMost: 2})
	t.add("trace:   deliveries that were counted and not traced", r.missed, "", none)
}
