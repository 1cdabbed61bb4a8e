package trace

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/text"
)

const (
	firehose   = "amq.rabbitmq.trace"
	deliverKey = "deliver."
	// longestName is the longest name of a queue whose deliveries have a routing key that AMQP can write.
	longestName = 255 - len(deliverKey)

	// The bounds of the queue that a trace is read from. Beyond them the oldest goes; the broker waits for nobody.
	maxTapped      = 20_000
	maxTappedBytes = 64 << 20
	// unread is how many messages the broker sends ahead, unreadWithBody how many where ids stand in bodies: what waits beyond them waits in the
	// queue, whose bounds then hold. They are acked by the quarter, and where they are large by ackBytes, so that the broker keeps few of them.
	unread         = 1000
	unreadWithBody = 250
	ackBytes       = 1 << 20
	// nowhere is an exchange that nobody can make. What the queue drops goes there: a policy for all queues that dead-letters would else make
	// dead letters of copies. What a queue says of itself comes before what a policy says.
	nowhere = "amq.gen-nowhere"
)

// A tap is a queue of ours that gets a copy of what is delivered from other queues. It goes with its connection.
type tap struct {
	conn  *amqp.Connection
	queue string
	// keep lets it outlive the context that it was opened with. close ends it, once.
	keep  func() bool
	close func()

	// ahead is how many messages the broker sends before it waits for acks. Taken and size are what was read since the last one.
	ahead, taken int
	size         int64
}

// openTap makes a queue and binds it to the deliveries of others; bodies is whether theirs are needed. It is closed when ctx ends, unless it
// was told to keep.
func (t *Tracer) openTap(ctx context.Context, vhost string, queues []string, bodies bool) (*tap, error) {
	ahead, largest := unread, int64(0)
	if bodies {
		ahead, largest = unreadWithBody, message.MaxPeekedBody
	}
	conn, err := t.mover.Connect(ctx, vhost, "measure", fmt.Sprintf("read the trace of vhost %s", broker.Quote(vhost)), largest)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, conn.Abort)
	p := &tap{conn: conn, ahead: ahead, keep: stop, close: sync.OnceFunc(func() {
		stop()
		_ = conn.Close()
	})}
	const durable, autoDelete, exclusive, noWait = false, true, true, false
	declared, err := conn.Channel.QueueDeclare("", durable, autoDelete, exclusive, noWait, amqp091.Table{
		"x-max-length": int64(maxTapped), "x-max-length-bytes": int64(maxTappedBytes), "x-overflow": "drop-head", "x-queue-type": "classic",
		"x-dead-letter-exchange": nowhere,
	})
	p.queue = declared.Name
	for i := 0; i < len(queues) && err == nil; i++ {
		err = conn.Channel.QueueBind(p.queue, deliverKey+queues[i], firehose, noWait, nil)
	}
	if err != nil {
		err = conn.Fail(broker.OrEnd(ctx, err))
		p.close()
		return nil, err
	}
	return p, nil
}

// consume lets the broker send what comes, so much ahead of took. Without acks it would send all at once, and the library would keep all of it.
func (p *tap) consume() (<-chan amqp091.Delivery, error) {
	const anySize, ofChannel = 0, false
	if err := p.conn.Channel.Qos(p.ahead, anySize, ofChannel); err != nil {
		return nil, p.conn.Fail(err)
	}
	const autoAck, exclusive, noLocal, noWait = false, true, false, false
	deliveries, err := p.conn.Channel.Consume(p.queue, "", autoAck, exclusive, noLocal, noWait, nil)
	if err != nil {
		return nil, p.conn.Fail(err)
	}
	return deliveries, nil
}

// took notes that a message of so many bytes was read. It acks many at once; the few that are left go with the queue.
func (p *tap) took(d *amqp091.Delivery, size int64) {
	p.taken++
	p.size += size
	if 4*p.taken < p.ahead && p.size < ackBytes {
		return
	}
	p.taken, p.size = 0, 0
	const multiple = true
	_ = d.Ack(multiple) // it fails with the connection, which ends what is read too
}

// depthOn asks how many messages wait in the queue, on a channel of its own.
func (p *tap) depthOn(channel *amqp091.Channel) (int, error) {
	const durable, autoDelete, exclusive, noWait = false, true, true, false
	q, err := channel.QueueDeclarePassive(p.queue, durable, autoDelete, exclusive, noWait, nil)
	return q.Messages, err
}

// readsAll reports whether the account may read the trace of any queue, for lack of a topic permission. The channel may end by it.
func (p *tap) readsAll() bool {
	return p.conn.Channel.QueueBind(p.queue, "publish.nowhere.dedup-dashboard", firehose, false, nil) == nil
}

// topicPattern lets an account read the trace of these queues alone.
func topicPattern(queues []string) string {
	return `^deliver\.(` + text.Joined(queues, "|", regexp.QuoteMeta) + `)$`
}

// isRefused reports whether the broker refused for lack of a permission.
func isRefused(err error) bool {
	var reply *amqp091.Error
	return errors.As(err, &reply) && (reply.Code == amqp091.AccessRefused || reply.Code == amqp091.NotAllowed) || broker.KindOf(err) == broker.NoPermission
}
