package requeue_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// brokenEnds turn the honest engine into those that are found in the wild, each with the law that must catch it and the fault that
// brings it out, if it needs one.
var brokenEnds = []struct {
	name, law, fault string
	wrap             func(requeue.Ends) requeue.Ends
}{
	{"acks before the broker has confirmed", lawLost, "kill", func(e requeue.Ends) requeue.Ends { return ackBeforeConfirm{e} }},
	{"takes a returned message for one that arrived", lawLost, "", func(e requeue.Ends) requeue.Ends { return ignoreReturn{e} }},
	{"copies every header", lawSideCopies, "", func(e requeue.Ends) requeue.Ends {
		return &copyHeaders{Ends: e, headers: map[string]map[string]any{}}
	}},
	{"acks all messages up to the one that was confirmed", lawLost, "", func(e requeue.Ends) requeue.Ends { return multipleAck{e} }},
	{"recovers its connection behind the engine", lawLost, "cut source", func(e requeue.Ends) requeue.Ends { return autoRecovery{e} }},
	{"takes and publishes on one connection", lawConfirmedStays, "alarm", func(e requeue.Ends) requeue.Ends { return &oneConnection{Ends: e} }},
}

// TestEveryBrokenEngineIsCaught holds each broken engine to the same laws as ours, in scenarios that ours passes.
func TestEveryBrokenEngineIsCaught(t *testing.T) {
	const cases = 10_000
	for _, broken := range brokenEnds {
		t.Run(broken.name, func(t *testing.T) {
			for seed := range cases {
				s := scenarios().Example(seed).with(broken.fault)
				if wrong := s.play(t, nil).violated(); len(wrong) > 0 {
					t.Fatalf("case %d is no evidence, ours fails it too: %q", seed+1, wrong)
				}
				if what, ok := s.play(t, broken.wrap).violated()[broken.law]; ok {
					t.Logf("caught by case %d: %s: %s", seed+1, broken.law, what)
					return
				}
			}
			t.Errorf("not caught in %d cases", cases)
		})
	}
}

// wrappedSink lets a broken engine change what an honest sink does.
type wrappedSink struct {
	requeue.Sink
	publish func(ctx context.Context, queue string, m message.Message) error
	answer  func(ctx context.Context) (message.Answer, error)
}

func (s wrappedSink) Publish(ctx context.Context, queue string, m message.Message) error {
	if s.publish != nil {
		return s.publish(ctx, queue, m)
	}
	return s.Sink.Publish(ctx, queue, m)
}

func (s wrappedSink) Answer(ctx context.Context) (message.Answer, error) {
	if s.answer != nil {
		return s.answer(ctx)
	}
	return s.Sink.Answer(ctx)
}

// ackBeforeConfirm answers for the broker.
type ackBeforeConfirm struct{ requeue.Ends }

func (e ackBeforeConfirm) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	sink, err := e.Ends.Sink(ctx, vhost, window)
	if err != nil {
		return nil, err
	}
	return wrappedSink{Sink: sink, answer: func(context.Context) (message.Answer, error) {
		return message.Answer{Outcome: message.Confirmed}, nil
	}}, nil
}

// ignoreReturn listens to confirms alone: the broker confirms what it has returned.
type ignoreReturn struct{ requeue.Ends }

func (e ignoreReturn) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	sink, err := e.Ends.Sink(ctx, vhost, window)
	if err != nil {
		return nil, err
	}
	return wrappedSink{Sink: sink, answer: func(ctx context.Context) (message.Answer, error) {
		answer, err := sink.Answer(ctx)
		if answer.Outcome == message.Returned {
			answer.Outcome = message.Confirmed
		}
		return answer, err
	}}, nil
}

// copyHeaders sends the headers that a message came with.
type copyHeaders struct {
	requeue.Ends
	mu      sync.Mutex
	headers map[string]map[string]any
}

func (e *copyHeaders) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.Ends.Source(ctx, queue, take)
	if err != nil {
		return nil, err
	}
	return &wrappedSource{Source: source, next: func(ctx context.Context) (message.Delivery, error) {
		d, err := source.Next(ctx)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.headers[d.MessageID] = d.Headers
		return d, err
	}}, nil
}

func (e *copyHeaders) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	sink, err := e.Ends.Sink(ctx, vhost, window)
	if err != nil {
		return nil, err
	}
	return wrappedSink{Sink: sink, publish: func(ctx context.Context, queue string, m message.Message) error {
		e.mu.Lock()
		headers := maps.Clone(e.headers[m.MessageID])
		e.mu.Unlock()
		maps.Copy(headers, m.Headers)
		m.Headers = headers
		return sink.Publish(ctx, queue, m)
	}}, nil
}

// wrappedSource lets a broken engine change what an honest source does.
type wrappedSource struct {
	requeue.Source
	next func(ctx context.Context) (message.Delivery, error)
	ack  func(tag uint64) error
}

func (s *wrappedSource) Next(ctx context.Context) (message.Delivery, error) {
	if s.next != nil {
		return s.next(ctx)
	}
	return s.Source.Next(ctx)
}

func (s *wrappedSource) Ack(tag uint64) error {
	if s.ack != nil {
		return s.ack(tag)
	}
	return s.Source.Ack(tag)
}

// multipleAck saves on acks.
type multipleAck struct{ requeue.Ends }

func (e multipleAck) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.Ends.Source(ctx, queue, take)
	if err != nil {
		return nil, err
	}
	return &multipleAckSource{Source: source, held: map[uint64]bool{}}, nil
}

type multipleAckSource struct {
	requeue.Source
	mu   sync.Mutex
	held map[uint64]bool
}

func (s *multipleAckSource) Next(ctx context.Context) (message.Delivery, error) {
	d, err := s.Source.Next(ctx)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held[d.Tag] = true
	}
	return d, err
}

func (s *multipleAckSource) Ack(tag uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, held := range slices.Sorted(maps.Keys(s.held)) {
		if held > tag {
			break
		}
		delete(s.held, held)
		if err := s.Source.Ack(held); err != nil {
			return err
		}
	}
	return nil
}

// autoRecovery opens a source again when it is lost, and acks on the new one what the old one had delivered.
type autoRecovery struct{ requeue.Ends }

func (e autoRecovery) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.Ends.Source(ctx, queue, take)
	if err != nil {
		return nil, err
	}
	return &recoveringSource{Source: source, open: func() (requeue.Source, error) {
		return e.Ends.Source(context.WithoutCancel(ctx), queue, take)
	}}, nil
}

type recoveringSource struct {
	requeue.Source
	mu   sync.Mutex
	open func() (requeue.Source, error)
}

func (s *recoveringSource) current() requeue.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Source
}

// recover replaces a source that has failed.
func (s *recoveringSource) recover(failed requeue.Source, err error) (requeue.Source, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil, false
	}
	if s.Source != failed {
		return s.Source, true
	}
	source, openErr := s.open()
	if openErr != nil {
		return nil, false
	}
	s.Source = source
	return source, true
}

func (s *recoveringSource) Next(ctx context.Context) (message.Delivery, error) {
	source := s.current()
	d, err := source.Next(ctx)
	if again, ok := s.recover(source, err); ok {
		return again.Next(ctx)
	}
	return d, err
}

func (s *recoveringSource) Ack(tag uint64) error {
	source := s.current()
	err := source.Ack(tag)
	if again, ok := s.recover(source, err); ok {
		return again.Ack(tag)
	}
	return err
}

func (s *recoveringSource) Close() error { return s.current().Close() }

// oneConnection shares one connection: a broker in alarm that does not read what is published reads no acks either.
type oneConnection struct {
	requeue.Ends
	mu   sync.Mutex
	sink requeue.Sink
}

func (e *oneConnection) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	sink, err := e.Ends.Sink(ctx, vhost, window)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sink = sink
	return sink, err
}

func (e *oneConnection) blocked() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sink != nil && e.sink.Blocked() != ""
}

func (e *oneConnection) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.Ends.Source(ctx, queue, take)
	if err != nil {
		return nil, err
	}
	return &wrappedSource{Source: source, ack: func(tag uint64) error {
		for deadline := time.Now().Add(writeTimeout); e.blocked(); time.Sleep(time.Second) {
			if time.Now().After(deadline) {
				return errors.Join(errTimeout, source.Close())
			}
		}
		return source.Ack(tag)
	}}, nil
}
