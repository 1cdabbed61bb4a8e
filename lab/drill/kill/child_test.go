package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/secret"
)

// childVariable holds the orders of a process of this test program that requeues instead of testing.
const childVariable = "DEDUP_KILL_CHILD"

// childOrders say what a child does.
type childOrders struct {
	ManagementURL string
	AMQPURL       string
	Run           string
	Limit         int64
	Window        int
	Rate          float64
	// Point is where the child kills itself, the After-th time that it comes there; empty when it does not.
	Point string
	After int
	// Hasty makes the child take a message as confirmed when it has been handed over, before it is sent.
	Hasty bool
}

// The points at which a child kills itself, each at the end of the step that it names.
const (
	pointTaken     = "taken"
	pointPublished = "published"
	pointConfirmed = "confirmed"
	pointAcked     = "acked"
	pointReported  = "reported"
)

func TestMain(m *testing.M) {
	orders := os.Getenv(childVariable)
	if orders == "" {
		os.Exit(m.Run())
	}
	if err := obey(orders); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// obey requeues as it is told, with the settle loop and the ends that the dashboard uses and nothing else of it.
func obey(text string) error {
	var orders childOrders
	if err := json.Unmarshal([]byte(text), &orders); err != nil {
		return fmt.Errorf("read the orders: %w", err)
	}
	opened, err := amqp.OpenMover(broker.Config{
		Name: "main", ManagementURL: orders.ManagementURL, Username: watcher, Password: secret.New(watchPassword),
		Act: broker.Act{AMQPURL: orders.AMQPURL, Username: mover, Password: secret.New(movingPassword)},
	}, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	defer opened.Close()
	fuse := &fuse{point: orders.Point, left: orders.After}
	result, err := requeue.Run(context.Background(), ends{opened, fuse, orders.Hasty}, requeue.Config{
		Run: orders.Run, Queue: dedup.QueueRef{Vhost: "/", Name: deadQueue}, Limit: orders.Limit, Window: orders.Window, Rate: orders.Rate,
	}, home{}, func(context.Context, []requeue.Settled) error {
		fuse.burn(pointReported)
		return nil
	})
	fmt.Fprintf(os.Stderr, "%+v\n", result)
	if err == nil && result.Stop != requeue.StopLimit && result.Stop != requeue.StopEmpty {
		err = errors.New(result.Text)
	}
	return err
}

// home sends every message to the queue that it died in.
type home struct{}

func (home) Decide(_ context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error) {
	decisions := make([]requeue.Decision, len(letters))
	for i, letter := range letters {
		source, ok := letter.Source()
		if !ok {
			return nil, fmt.Errorf("message %q does not say where it died", letter.MessageID)
		}
		decisions[i].Target = source
	}
	return decisions, nil
}

// Undecide implements requeue.Decider.
func (home) Undecide([]dedup.DeadLetter, []requeue.Decision) {}

// A fuse kills the process.
type fuse struct {
	point string
	left  int
}

// burn is called at every point by one goroutine for each.
func (f *fuse) burn(point string) {
	if point != f.point {
		return
	}
	if f.left--; f.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is under way
	}
}

// ends are those of the dashboard with a fuse at every step.
type ends struct {
	mover *amqp.Mover
	fuse  *fuse
	hasty bool
}

func (e ends) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.mover.Source(ctx, queue, take.Held, take.Single)
	if err != nil {
		return nil, err
	}
	return fusedSource{source, e.fuse}, nil
}

func (e ends) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	sink, err := e.mover.Sink(ctx, vhost, window)
	if err != nil {
		return nil, err
	}
	if e.hasty {
		return newHastySink(sink, window), nil
	}
	return fusedSink{sink, e.fuse}, nil
}

type fusedSource struct {
	requeue.Source
	fuse *fuse
}

func (s fusedSource) Next(ctx context.Context) (message.Delivery, error) {
	d, err := s.Source.Next(ctx)
	if err == nil {
		s.fuse.burn(pointTaken)
	}
	return d, err
}

func (s fusedSource) Ack(tag uint64) error {
	err := s.Source.Ack(tag)
	s.fuse.burn(pointAcked)
	return err
}

type fusedSink struct {
	requeue.Sink
	fuse *fuse
}

func (s fusedSink) Publish(ctx context.Context, queue string, m message.Message) error {
	err := s.Sink.Publish(ctx, queue, m)
	s.fuse.burn(pointPublished)
	return err
}

func (s fusedSink) Answer(ctx context.Context) (message.Answer, error) {
	answer, err := s.Sink.Answer(ctx)
	s.fuse.burn(pointConfirmed)
	return answer, err
}

// A hastySink is wrong on purpose: it answers for each message at once, and sends what it has gathered some time later. What a requeue
// acks by such answers is nowhere when the process is killed before it has sent it.
type hastySink struct {
	requeue.Sink
	answers chan message.Answer
	stop    chan struct{}
	stopped chan error

	mu       sync.Mutex
	gathered []gathered
}

type gathered struct {
	queue   string
	message message.Message
}

const (
	// gatherFor is how long a hasty sink gathers, gatheredMost how many messages it then sends together.
	gatherFor    = 50 * time.Millisecond
	gatheredMost = 16
)

func newHastySink(sink requeue.Sink, window int) *hastySink {
	s := &hastySink{Sink: sink, answers: make(chan message.Answer, window), stop: make(chan struct{}), stopped: make(chan error, 1)}
	go func() { s.stopped <- s.run() }()
	return s
}

func (s *hastySink) Publish(_ context.Context, queue string, m message.Message) error {
	s.mu.Lock()
	s.gathered = append(s.gathered, gathered{queue, m})
	s.mu.Unlock()
	s.answers <- message.Answer{Outcome: message.Confirmed}
	return nil
}

func (s *hastySink) Answer(ctx context.Context) (message.Answer, error) {
	select {
	case answer := <-s.answers:
		return answer, nil
	case <-ctx.Done():
		return message.Answer{}, ctx.Err()
	}
}

// run sends what was gathered, until it is stopped.
func (s *hastySink) run() error {
	tick := time.NewTicker(gatherFor)
	defer tick.Stop()
	for {
		last := false
		select {
		case <-tick.C:
		case <-s.stop:
			last = true
		}
		s.mu.Lock()
		batch := s.gathered
		s.gathered = nil
		s.mu.Unlock()
		for some := range slices.Chunk(batch, gatheredMost) {
			if err := s.send(some); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
	}
}

func (s *hastySink) send(some []gathered) error {
	for _, g := range some {
		if err := s.Sink.Publish(context.Background(), g.queue, g.message); err != nil {
			return err
		}
	}
	for range some {
		if _, err := s.Sink.Answer(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func (s *hastySink) Close() error {
	close(s.stop)
	return errors.Join(<-s.stopped, s.Sink.Close())
}
