package amqp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// MayTake reports as an error why the acting account may not take messages from a queue; nil when it may. No message is touched: it
// asks to consume with a priority that is no number, which the broker denies after it has looked at the permission, and logs as an error.
// No trial is silent: to be told that it may, an account must consume or get, and the broker shows permissions to administrators alone.
// A consumer that takes nothing would not do: with the last one an auto-delete queue is deleted.
func (m *Mover) MayTake(ctx context.Context, queue dedup.QueueRef) error {
	what := fmt.Sprintf("see whether queue %s of vhost %s may be read", broker.Quote(queue.Name), broker.Quote(queue.Vhost))
	l, done, err := m.OpenBriefly(ctx, queue.Vhost, "check", what)
	if err != nil {
		return err
	}
	defer done()
	const autoAck, exclusive, noLocal, noWait = false, false, false, false
	if err = l.Channel.Qos(1, 0, false); err != nil { // should it be taken for a consumer after all, it is sent one message
		return l.Fail(broker.OrEnd(ctx, err))
	}
	_, err = l.Channel.Consume(queue.Name, "", autoAck, exclusive, noLocal, noWait, amqp.Table{"x-priority": "none"})
	var reply *amqp.Error
	if errors.As(err, &reply) && reply.Code == amqp.PreconditionFailed {
		return nil
	}
	if err == nil { // what it was sent goes back with the channel
		return fmt.Errorf("broker %s: %s: the broker took a consumer that it should have denied", m.Name, what)
	}
	return l.Fail(broker.OrEnd(ctx, err))
}

// MayPublish reports as an error why the acting account may not publish to queues of a vhost; nil when it may. It publishes to a queue
// that does not exist, which comes back.
func (m *Mover) MayPublish(ctx context.Context, vhost string) error {
	sink, err := m.Sink(ctx, vhost, 1)
	if err != nil {
		return err
	}
	defer sink.Close()
	if err := sink.Publish(ctx, "dedup.check."+rand.Text(), message.Message{}); err != nil {
		return err
	}
	answer, err := sink.Answer(ctx)
	if err != nil {
		return sink.link.Fail(broker.OrEnd(ctx, err))
	}
	if answer.Outcome == message.AnswerLost {
		return sink.link.Fail(errors.New(cmp.Or(answer.Text, ErrEnded.Error())))
	}
	return nil
}
