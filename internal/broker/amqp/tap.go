package amqp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
)

const (
	firehose   = "amq.rabbitmq.trace"
	deliverKey = "deliver."
	// longestName is the longest name of a queue whose deliveries have a routing key that AMQP can write.
	longestName = 255 - len(deliverKey)

	// The bounds of the queue that a trace is read from. Beyond them the oldest goes; the broker waits for nobody.
	maxTapped      = 20_000
	maxTappedBytes = 64 << 20
	// nowhere is an exchange that nobody can make. What the queue drops goes there: a policy for all queues that dead-letters would else make
	// dead letters of copies. What a queue says of itself comes before what a policy says.
	nowhere = "amq.gen-nowhere"
)

// A tap is a queue of ours that gets a copy of what is delivered from other queues. It goes with its connection.
type tap struct {
	conn  *broker.Connection
	queue string
	// keep lets it outlive the context that it was opened with. close ends it, once.
	keep  func() bool
	close func()
}

// openTap makes a queue and binds it to the deliveries of others. It is closed when ctx ends, unless it was told to keep.
func (t *Tracer) openTap(ctx context.Context, vhost string, queues []string) (*tap, error) {
	conn, err := t.mover.Connect(ctx, vhost, "measure", fmt.Sprintf("read the trace of vhost %s", broker.Quote(vhost)))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, conn.Abort)
	p := &tap{conn: conn, keep: stop, close: sync.OnceFunc(func() {
		stop()
		_ = conn.Close()
	})}
	const durable, autoDelete, exclusive, noWait = false, true, true, false
	declared, err := conn.Channel().QueueDeclare("", durable, autoDelete, exclusive, noWait, amqp091.Table{
		"x-max-length": int64(maxTapped), "x-max-length-bytes": int64(maxTappedBytes), "x-overflow": "drop-head", "x-queue-type": "classic",
		"x-dead-letter-exchange": nowhere,
	})
	p.queue = declared.Name
	for i := 0; i < len(queues) && err == nil; i++ {
		err = conn.Channel().QueueBind(p.queue, deliverKey+queues[i], firehose, noWait, nil)
	}
	if err != nil {
		err = conn.Fail(orEnd(ctx, err))
		p.close()
		return nil, err
	}
	return p, nil
}

// orEnd returns why ctx ended, if it did: the connection that this closed shows as some error of its own.
func orEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// consume lets the broker send what comes. Nothing is acked: what was sent and not read is gone.
func (p *tap) consume() (<-chan amqp091.Delivery, error) {
	const autoAck, exclusive, noLocal, noWait = true, true, false, false
	deliveries, err := p.conn.Channel().Consume(p.queue, "", autoAck, exclusive, noLocal, noWait, nil)
	if err != nil {
		return nil, p.conn.Fail(err)
	}
	return deliveries, nil
}

// depthOn asks how many messages wait in the queue, on a channel of its own.
func (p *tap) depthOn(channel *amqp091.Channel) (int, error) {
	const durable, autoDelete, exclusive, noWait = false, true, true, false
	q, err := channel.QueueDeclarePassive(p.queue, durable, autoDelete, exclusive, noWait, nil)
	return q.Messages, err
}

// readsAll reports whether the account may read the trace of any queue, for lack of a topic permission. The channel may end by it.
func (p *tap) readsAll() bool {
	return p.conn.Channel().QueueBind(p.queue, "publish.nowhere.dedup-dashboard", firehose, false, nil) == nil
}

// topicPattern lets an account read the trace of these queues alone.
func topicPattern(queues []string) string {
	quoted := make([]string, len(queues))
	for i, name := range queues {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return `^deliver\.(` + strings.Join(quoted, "|") + `)$`
}

// isRefused reports whether the broker refused for lack of a permission.
func isRefused(err error) bool {
	var reply *amqp091.Error
	return errors.As(err, &reply) && (reply.Code == amqp091.AccessRefused || reply.Code == amqp091.NotAllowed) || broker.KindOf(err) == broker.NoPermission
}
