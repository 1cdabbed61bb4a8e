package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
)

const (
	deadLetters   = 100_000
	loopLetters   = 5_000
	letterBody    = 512
	requeueRounds = 3
	deadQueue     = "work.dead"
	workQueue     = "work"
)

// measureRequeue compares the requeue engine with RabbitMQ's shovel plugin, with a bare client and with a loop that moves one message
// after the other, each on equal dead letters in the same broker, in turns. Why the shovel is the faster:
// docs/decisions/0007-requeue-speed.md.
func measureRequeue(ctx context.Context, b *bench) error {
	b.note("starting a RabbitMQ with its shovel plugin")
	server, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{
		Dir: filepath.Join(b.folder, "requeue"), Plugins: []string{"rabbitmq_shovel", "rabbitmq_shovel_management"},
	})
	if err != nil {
		return err
	}
	defer server.Kill()
	race, err := newRequeueRace(server)
	if err != nil {
		return err
	}
	defer race.close()
	var engine, bare, shovel, loop []float64
	for round := range requeueRounds {
		b.note("requeue round %d of %d", round+1, requeueRounds)
		for _, one := range []struct {
			name    string
			letters int
			move    func(context.Context, int) error
			rates   *[]float64
		}{{"engine", deadLetters, race.engine, &engine}, {"bare client", deadLetters, race.bare, &bare}, {"shovel", deadLetters, race.shovel, &shovel}, {"loop", loopLetters, race.loop, &loop}} {
			rate, err := race.run(ctx, one.letters, one.move)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			b.note("%s: %.0f msg/s", one.name, rate)
			*one.rates = append(*one.rates, rate)
		}
	}
	ours, most, theirs, single := middle(engine), middle(bare), middle(shovel), middle(loop)
	b.table.add("requeue: the engine, 100,000 × 512 B, median of 3", ours, "msg/s", target{})
	b.table.add("requeue: a bare client with the same window", most, "msg/s", target{})
	b.table.add("requeue: the shovel plugin, on-confirm, prefetch 1000", theirs, "msg/s", target{})
	b.table.add("requeue: a get-publish-confirm-ack loop of 5,000", single, "msg/s", target{})
	b.table.add("requeue: engine / shovel", ours/theirs, "ratio", target{atLeast: 1})
	b.table.add("requeue: engine / loop", ours/single, "ratio", target{atLeast: 8})
	b.table.add("requeue: shovel / loop", theirs/single, "ratio", target{})
	b.table.add("requeue: engine / bare client", ours/most, "ratio", target{atLeast: 0.8})
	return nil
}

// middle returns the median and leaves the order of its values, which may be one half of pairs.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// requeueRace is a broker with a dead-letter queue, a target, and those who move from one to the other.
type requeueRace struct {
	server     *servers.RabbitMQ
	mover      *amqp.Mover
	connection *amqp091.Connection
	channel    *amqp091.Channel
}

func newRequeueRace(server *servers.RabbitMQ) (*requeueRace, error) {
	user, password := server.Admin()
	mover, err := amqp.OpenMover(broker.Config{
		Name: "bench", ManagementURL: server.ManagementURL(), Username: user, Password: secret.New(password),
		Act: broker.Act{AMQPURL: "amqp://" + server.AMQPAddr() + "/", Username: user, Password: secret.New(password)},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	connection, err := amqp091.Dial(server.AMQPURL(user, password))
	if err != nil {
		return nil, fmt.Errorf("connect to fill a queue: %w", err)
	}
	channel, err := connection.Channel()
	if err == nil {
		err = channel.Confirm(false)
	}
	for _, queue := range []string{deadQueue, workQueue} {
		if err == nil {
			_, err = channel.QueueDeclare(queue, true, false, false, false, nil)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the queues: %w", err), connection.Close())
	}
	return &requeueRace{server: server, mover: mover, connection: connection, channel: channel}, nil
}

func (r *requeueRace) close() {
	_ = r.connection.Close()
	_ = r.mover.Close()
}

// run fills the dead-letter queue, has it moved, checks that all arrived, and returns messages per second.
func (r *requeueRace) run(ctx context.Context, letters int, move func(context.Context, int) error) (float64, error) {
	if err := r.fill(letters); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := move(ctx, letters); err != nil {
		return 0, err
	}
	took := time.Since(start)
	arrived, err := r.channel.QueuePurge(workQueue, false)
	if err == nil && arrived != letters {
		err = fmt.Errorf("%d of %d messages arrived", arrived, letters)
	}
	return float64(letters) / took.Seconds(), err
}

// fill publishes persistent dead letters with the headers that the broker would have given them.
func (r *requeueRace) fill(letters int) error {
	if _, err := r.channel.QueuePurge(deadQueue, false); err != nil {
		return fmt.Errorf("empty the dead-letter queue: %w", err)
	}
	died := time.Now()
	window := make([]*amqp091.DeferredConfirmation, 500)
	for i := range letters + len(window) {
		slot := &window[i%len(window)]
		if *slot != nil && !(*slot).Wait() {
			return errors.New("the broker did not take what was to fill the queue")
		}
		if *slot = nil; i >= letters {
			continue
		}
		var err error
		*slot, err = r.channel.PublishWithDeferredConfirm("", deadQueue, false, false, deadLetter(i, died))
		if err != nil {
			return fmt.Errorf("fill the dead-letter queue: %w", err)
		}
	}
	return nil
}

func deadLetter(i int, died time.Time) amqp091.Publishing {
	return amqp091.Publishing{
		MessageId: "order-" + strconv.Itoa(i), DeliveryMode: amqp091.Persistent, ContentType: "application/json",
		Timestamp: died, Body: make([]byte, letterBody),
		Headers: amqp091.Table{
			"x-death": []any{amqp091.Table{"count": int64(1), "reason": "rejected", "queue": workQueue, "time": died,
				"exchange": "", "routing-keys": []any{workQueue}}},
			"x-first-death-exchange": "", "x-first-death-queue": workQueue, "x-first-death-reason": "rejected",
		},
	}
}

// engine moves by our own engine.
func (r *requeueRace) engine(ctx context.Context, letters int) error {
	cfg := requeue.Config{Run: "bench", Queue: dedup.QueueRef{Vhost: "/", Name: deadQueue}, Limit: int64(letters)}
	result, err := requeue.Run(ctx, movingEnds{r.mover}, cfg, sendTo(workQueue), func(context.Context, []requeue.Settled) error { return nil })
	if err == nil && result.Moved != int64(letters) {
		err = fmt.Errorf("the engine moved %d of %d and stopped: %s", result.Moved, letters, result.Text)
	}
	return err
}

// movingEnds are the ends of a mover as the engine takes them.
type movingEnds struct{ mover *amqp.Mover }

// Source implements requeue.Ends.
func (e movingEnds) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.mover.Source(ctx, queue, take.Held, take.Single)
	if err != nil {
		return nil, err
	}
	return source, nil
}

// Sink implements requeue.Ends.
func (e movingEnds) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	sink, err := e.mover.Sink(ctx, vhost, window)
	if err != nil {
		return nil, err
	}
	return sink, nil
}

// sendTo decides that every message goes to one queue.
type sendTo string

// Decide implements requeue.Decider.
func (s sendTo) Decide(_ context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error) {
	decisions := make([]requeue.Decision, len(letters))
	for i := range decisions {
		decisions[i].Target = string(s)
	}
	return decisions, nil
}

// Undecide implements requeue.Decider.
func (sendTo) Undecide([]dedup.DeadLetter, []requeue.Decision) {}

// shovel moves by a dynamic shovel with the settings of "move messages" in the management page, connections inside the broker among
// them, and waits until it has ended by itself.
func (r *requeueRace) shovel(ctx context.Context, _ int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	const address = "amqp:///%2F"
	definition := map[string]any{"value": map[string]any{
		"src-protocol": "amqp091", "src-uri": address, "src-queue": deadQueue, "src-prefetch-count": 1000, "src-delete-after": "queue-length",
		"dest-protocol": "amqp091", "dest-uri": address, "dest-queue": workQueue, "dest-add-forward-headers": false, "ack-mode": "on-confirm",
	}}
	const path = "/api/parameters/shovel/%2F/bench"
	if err := r.server.API(ctx, http.MethodPut, path, definition, nil); err != nil {
		return err
	}
	for {
		var there []struct {
			Name string `json:"name"`
		}
		// It deletes its own definition after the last message was acked.
		if err := r.server.API(ctx, http.MethodGet, "/api/parameters/shovel", nil, &there); err != nil {
			return err
		}
		if len(there) == 0 {
			return nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// loop moves one message after the other, as a script of an evening does.
func (r *requeueRace) loop(ctx context.Context, letters int) error {
	ends := movingEnds{r.mover}
	source, err := ends.Source(ctx, dedup.QueueRef{Vhost: "/", Name: deadQueue}, requeue.Taking{Held: 1, Single: true})
	if err != nil {
		return err
	}
	defer source.Close()
	sink, err := ends.Sink(ctx, "/", 1)
	if err != nil {
		return err
	}
	defer sink.Close()
	for range letters {
		d, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return errors.New("the queue was empty too early")
		}
		if err != nil {
			return err
		}
		if err := sink.Publish(ctx, workQueue, d.Message); err != nil {
			return err
		}
		if answer, err := sink.Answer(ctx); err != nil || answer.Outcome != message.Confirmed {
			return fmt.Errorf("message %s: %s %w", d.MessageID, answer.Outcome, err)
		}
		if err := source.Ack(d.Tag); err != nil {
			return err
		}
	}
	return nil
}
