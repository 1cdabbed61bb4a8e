package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/live"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
)

const (
	// liveQueues are the queues of 20 pipelines, liveChannels the channels that consume from each.
	liveQueues   = 20
	liveChannels = 25
	// liveRate is how many messages per second go through them, one after the other.
	liveRate = 200
	// liveTurn is how long messages flow with and without us, liveTurns how often in turns.
	liveTurn  = 6 * time.Second
	liveTurns = 7
	// liveSettling is how often is read first, until the node's own counters are read with one reading in five alone, as where no channel goes.
	// liveReadings is how many readings are timed then.
	liveSettling, liveReadings = 40, 100
	// readMode is the mode of the child that reads live counts each second.
	readMode = "read live counts"
)

// A liveRace is what the turns have measured so far: times of a message from its publishing to its delivery, and shares of a core.
type liveRace struct {
	server  *servers.RabbitMQ
	publish *amqp.Channel
	arrived chan time.Time
	// alone and read are p99s in ms, aloneServer and readServer what the broker used, ours what the child used.
	alone, read, aloneServer, readServer, ours []float64
}

// measureLive measures what reading a broker's live counts each second costs us and those whose messages go through it, in turns.
func measureLive(ctx context.Context, b *bench) error {
	b.note("reading the live counts of %d channels on %d queues while %d messages flow per second", liveQueues*liveChannels, liveQueues, liveRate)
	server, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(b.folder, "live"), Prometheus: true})
	if err != nil {
		return err
	}
	defer server.Kill()
	r := &liveRace{server: server, arrived: make(chan time.Time, liveRate)}
	leave, err := r.consume()
	defer leave()
	if err != nil {
		return err
	}
	for range liveTurns {
		if err := errors.Join(r.turn(ctx, false), r.turn(ctx, true)); err != nil {
			return err
		}
	}
	return r.tell(ctx, b.table)
}

// consume opens the channels, each of which has taken a message once the first turn has gone round.
func (r *liveRace) consume() (leave func(), err error) {
	leave = func() {}
	names := make([]string, liveQueues)
	for i := range names {
		names[i] = liveQueue(i)
	}
	if err := declareQueues(r.server, names); err != nil {
		return leave, err
	}
	connection, err := amqp.Dial(r.server.AMQPURL(r.server.Admin()))
	if err != nil {
		return leave, fmt.Errorf("connect: %w", err)
	}
	leave = func() { _ = connection.Close() }
	if r.publish, err = connection.Channel(); err != nil {
		return leave, fmt.Errorf("open a channel: %w", err)
	}
	for i := range liveQueues * liveChannels {
		if err := r.consumeOn(connection, liveQueue(i%liveQueues)); err != nil {
			return leave, err
		}
	}
	return leave, nil
}

func liveQueue(i int) string { return "live-" + strconv.Itoa(i) }

func (r *liveRace) consumeOn(connection *amqp.Connection, queue string) error {
	channel, err := connection.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	if err := channel.Qos(1, 0, false); err != nil {
		return fmt.Errorf("set the prefetch: %w", err)
	}
	deliveries, err := channel.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	go func() {
		for d := range deliveries {
			r.arrived <- time.Now()
			_ = d.Ack(false)
		}
	}()
	return nil
}

// turn lets messages flow, alone or while a child reads.
func (r *liveRace) turn(ctx context.Context, read bool) (err error) {
	pid := 0
	if read {
		reader, leave, err := attend(ctx, readMode, r.server.PrometheusURL())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, leave()) }()
		pid = reader
	}
	before, server := cpuSeconds(pid), cpuSeconds(r.server.PID())
	took, err := r.flow(ctx)
	if err != nil {
		return err
	}
	p99s, servers := &r.alone, &r.aloneServer
	if read {
		p99s, servers = &r.read, &r.readServer
		r.ours = append(r.ours, (cpuSeconds(pid)-before)/liveTurn.Seconds())
	}
	*p99s = append(*p99s, ms(p99(took)))
	*servers = append(*servers, (cpuSeconds(r.server.PID())-server)/liveTurn.Seconds())
	return err
}

// flow publishes one message after the other, each at its time, and returns how long each took to a consumer.
func (r *liveRace) flow(ctx context.Context) ([]time.Duration, error) {
	tick := time.NewTicker(time.Second / liveRate)
	defer tick.Stop()
	var took []time.Duration
	for end := time.Now().Add(liveTurn); time.Now().Before(end); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return took, ctx.Err()
		}
		began := time.Now()
		if err := r.publish.PublishWithContext(ctx, "", liveQueue(len(took)%liveQueues), false, false, amqp.Publishing{Body: []byte("x")}); err != nil {
			return took, fmt.Errorf("publish: %w", err)
		}
		select {
		case at := <-r.arrived:
			took = append(took, at.Sub(began))
		case <-ctx.Done():
			return took, ctx.Err()
		}
	}
	slices.Sort(took)
	return took, nil
}

// tell prints the medians of the turns, and what one reading takes.
func (r *liveRace) tell(ctx context.Context, t *table) error {
	reader, err := liveReader(r.server.PrometheusURL())
	if err != nil {
		return err
	}
	read := func() error { _, err := reader.Live(ctx); return err }
	if _, err := durations(liveSettling, read); err != nil {
		return fmt.Errorf("read live counts: %w", err)
	}
	used := processorTime()
	took, err := durations(liveReadings, read)
	if err != nil {
		return fmt.Errorf("read live counts: %w", err)
	}
	used = processorTime() - used
	more := make([]float64, len(r.read))
	for i := range more {
		more[i] = r.read[i] - r.alone[i]
	}
	t.add("live: one reading of 500 channels, median", ms(took[len(took)/2]), "ms", target{atMost: 10})
	t.add("live:   one that reads the node's own counters too, median", ms(took[len(took)*9/10]), "ms", target{atMost: 10})
	t.add("live:   of it processor time of ours, the rest is the broker's answer", ms(used)/liveReadings, "ms", target{})
	t.add("live:   of a core that our process takes, 20 pipelines, each second", middle(r.ours), "cores", target{atMost: 0.01})
	t.add("live:   p99 from publishing to delivery without us", middle(r.alone), "ms", target{})
	t.add("live:   added to it by us, median of the pairs", middle(more), "ms", target{atMost: 1})
	t.add("live:   of a core that the broker takes without us", middle(r.aloneServer), "cores", target{})
	t.add("live:   of a core that the broker takes with us", middle(r.readServer), "cores", target{})
	return nil
}

// liveReader reads the queues of the race.
func liveReader(url string) (*live.Reader, error) {
	reader, err := live.NewReader(broker.Config{Name: "bench", ManagementURL: url, Username: "nobody", Password: secret.New("unused"), PrometheusURLs: []string{url}})
	if err != nil {
		return nil, err
	}
	var refs []dedup.QueueRef
	for i := range liveQueues {
		refs = append(refs, dedup.QueueRef{Vhost: "/", Name: liveQueue(i)})
	}
	reader.Watch(refs...)
	return reader, nil
}

// readLive reads the live counts at the URL each second, as the dashboard does, until its standard input ends.
func readLive(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("write the URL of a Prometheus endpoint")
	}
	reader, err := liveReader(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for told := false; ; told = true {
		counts, err := reader.Live(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read live counts: %w", err)
		}
		if !told {
			fmt.Println("counted")
		}
		select {
		case <-time.After(max(time.Second, counts.Next)):
		case <-ctx.Done():
			return nil
		}
	}
}
