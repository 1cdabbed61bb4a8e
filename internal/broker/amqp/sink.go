package amqp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/message"
)

// A Sink publishes messages to queues of a vhost over a connection of its own, mandatory and with confirms. One goroutine calls
// Publish and one calls Answer; they may be the same.
type Sink struct {
	link *Link
	// pending holds what was sent and has no answer yet, in order of publishing.
	pending chan *sent
	// waiting is the publish that Answer waits for; it belongs to the goroutine that calls Answer.
	waiting *sent
	returns *returns

	mu     sync.Mutex
	reason string // why the broker reads nothing
}

// A sent is one publish that has no answer yet.
type sent struct {
	queue   string
	message amqp.Publishing
	// confirm is nil when the message was not sent, for the reason refused.
	confirm *amqp.DeferredConfirmation
	refused string
}

// Sink opens a way to publish to queues of a vhost; at most window publishes may be without an answer at once.
func (m *Mover) Sink(ctx context.Context, vhost string, window int) (*Sink, error) {
	if window < 1 {
		return nil, errors.New("publish: the window must hold at least one message")
	}
	l, err := m.open(ctx, vhost, "publish", "publish in vhost "+broker.Quote(vhost))
	if err != nil {
		return nil, err
	}
	s := &Sink{
		link: l, pending: make(chan *sent, window),
		returns: &returns{arrived: l.Channel.NotifyReturn(make(chan amqp.Return, window+1))},
	}
	stop := context.AfterFunc(ctx, l.Abort)
	defer stop()
	if err := l.Channel.Confirm(false); err != nil {
		err = l.Fail(broker.OrEnd(ctx, err))
		_ = l.Close()
		return nil, err
	}
	go s.watchAlarms()
	return s, nil
}

// watchAlarms ends with the connection.
func (s *Sink) watchAlarms() {
	for b := range s.link.blocked {
		reason := ""
		if b.Active {
			reason = "the broker reads nothing"
			if b.Reason != "" {
				reason = b.Reason
			}
		}
		s.mu.Lock()
		s.reason = reason
		s.mu.Unlock()
	}
}

// Blocked says why the broker reads nothing of what is published, as in "low on memory"; empty when it reads.
func (s *Sink) Blocked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Publish sends a message to a queue by the default exchange. It blocks for no longer than a write may take. A message that AMQP
// cannot carry is not sent, and its answer is Rejected. After an error the sink is of no use.
func (s *Sink) Publish(ctx context.Context, queue string, m message.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(s.pending) == cap(s.pending) {
		return fmt.Errorf("%s: %d publishes are without an answer, and no more may be", s.link.what, cap(s.pending))
	}
	next := &sent{queue: queue}
	var err error
	next.message, err = publishing(&m)
	if err == nil {
		err = s.fits(queue, &next.message)
	}
	if err != nil {
		next.refused = err.Error()
		s.pending <- next
		return nil
	}
	const defaultExchange, mandatory, immediate = "", true, false
	s.returns.expect(next) // it may come back before the next line ends
	next.confirm, err = s.link.Channel.PublishWithDeferredConfirm(defaultExchange, queue, mandatory, immediate, next.message)
	if err != nil {
		return s.link.Fail(err)
	}
	s.pending <- next
	return nil
}

// fits says why a message cannot be sent: its headers must fit into one frame, else the broker closes the connection.
func (s *Sink) fits(queue string, p *amqp.Publishing) error {
	if len(queue) > maxShort {
		return fmt.Errorf("the name of the queue has %d bytes, of which AMQP allows %d", len(queue), maxShort)
	}
	if limit, size := s.link.conn.Config.FrameSize, headerFrame(p); limit > 0 && size > limit {
		return fmt.Errorf("its headers take %d bytes, of which the broker allows %d", size, limit)
	}
	return nil
}

// Answer waits for the answer to the oldest publish that has none. When ctx ends first it returns its error, and may be called again.
func (s *Sink) Answer(ctx context.Context) (message.Answer, error) {
	if s.waiting == nil {
		select {
		case s.waiting = <-s.pending:
		case <-ctx.Done():
			return message.Answer{}, ctx.Err()
		}
	}
	if s.waiting.confirm != nil {
		select {
		case <-s.waiting.confirm.Done():
		case <-ctx.Done():
			return message.Answer{}, ctx.Err()
		}
	}
	answer := s.judge(s.waiting)
	s.waiting = nil
	return answer, nil
}

func (s *Sink) judge(p *sent) message.Answer {
	if p.confirm == nil {
		return message.Answer{Outcome: message.Rejected, Text: p.refused}
	}
	returned, text, err := s.returns.settle(p, p.confirm.Acked())
	switch {
	case !p.confirm.Acked() && s.link.Channel.IsClosed():
		// The library says false both for a nack and for the end of the channel, which it marks first.
		return message.Answer{Outcome: message.AnswerLost, Text: s.link.Fail(ErrEnded).Error()}
	case !p.confirm.Acked():
		return message.Answer{Outcome: message.Rejected, Text: "the broker did not take it (basic.nack), as a full queue with overflow reject-publish does"}
	case err != nil:
		return message.Answer{Outcome: message.AnswerLost, Text: err.Error()}
	case returned:
		return message.Answer{Outcome: message.Returned, Text: text}
	}
	return message.Answer{Outcome: message.Confirmed}
}

// Close ends the connection; what has no answer yet is lost to us.
func (s *Sink) Close() error {
	if s.Blocked() != "" {
		s.link.Abort() // a broker in alarm would not answer
	}
	if err := s.link.Close(); err != nil {
		s.link.mover.Log.Debug("a publishing connection did not end in order", "broker", s.link.mover.Name, "error", err)
	}
	return nil
}
