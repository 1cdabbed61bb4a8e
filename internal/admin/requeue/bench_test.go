package requeue_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// instantEnds cost nothing, so that what is measured is the engine.
type instantEnds struct{ n int }

func (e instantEnds) Source(context.Context, dedup.QueueRef, requeue.Taking) (requeue.Source, error) {
	return &instantSource{left: e.n, message: seedMessage("m", "a")}, nil
}

func (e instantEnds) Sink(_ context.Context, _ string, window int) (requeue.Sink, error) {
	return instantSink{answers: make(chan message.Answer, window)}, nil
}

type instantSource struct {
	left    int
	message message.Message
}

func (s *instantSource) Next(context.Context) (message.Delivery, error) {
	if s.left == 0 {
		return message.Delivery{}, io.EOF
	}
	s.left--
	return message.Delivery{Message: s.message, Tag: uint64(s.left), Left: -1}, nil
}

func (*instantSource) Ack(uint64) error { return nil }
func (*instantSource) Close() error     { return nil }

type instantSink struct{ answers chan message.Answer }

func (s instantSink) Publish(context.Context, string, message.Message) error {
	s.answers <- message.Answer{Outcome: message.Confirmed}
	return nil
}

func (s instantSink) Answer(context.Context) (message.Answer, error) { return <-s.answers, nil }
func (instantSink) Blocked() string                                  { return "" }
func (instantSink) Close() error                                     { return nil }

// BenchmarkEngine measures what the engine adds to each message: a broker takes about 100 µs for one.
func BenchmarkEngine(b *testing.B) {
	b.ReportAllocs()
	cfg := requeue.Config{Run: "bench", Queue: dedup.QueueRef{Vhost: "/", Name: "dead"}, Limit: int64(b.N)}
	result, err := requeue.Run(b.Context(), instantEnds{n: b.N}, cfg, decider{}, func(context.Context, []requeue.Settled) error { return nil })
	if err != nil || result.Moved != int64(b.N) {
		b.Fatal(fmt.Sprintf("%+v", result), err)
	}
}
