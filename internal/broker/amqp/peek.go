package amqp

import (
	"context"
	"fmt"
	"net"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

const (
	// maxHeld is how long a peek may hold its messages.
	maxHeld = 20 * time.Second
	// returnWithin is how long a queue may take to have its messages back before nobody waits for that any more.
	returnWithin = 4 * time.Second
)

// Peek takes up to limit messages from the head of a queue, or less when they come to maxBytes or take 20 s, and puts them back at once. A body beyond message.MaxPeekedBody is
// left out.
// It returns when they are back. A queue where that can lose a message (dedup.Returning) is refused with NotPossible before it is touched.
func (m *Mover) Peek(ctx context.Context, queue dedup.QueueRef, limit int, maxBytes int64) (dedup.Peek, error) {
	what := fmt.Sprintf("look at queue %s of vhost %s", broker.Quote(queue.Name), broker.Quote(queue.Vhost))
	described, err := m.watch.Queue(ctx, queue)
	if err != nil {
		return dedup.Peek{}, err
	}
	var s *bodyFilter
	l, err := m.openThrough(ctx, queue.Vhost, "peek", what, func(conn net.Conn) net.Conn {
		s = newBodyFilter(conn, message.MaxPeekedBody, maxBytes)
		return s
	})
	if err != nil {
		return dedup.Peek{}, err
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, l.Abort)
	live, err := inspect(l.Channel, queue.Name)
	if err != nil {
		stop()
		return dedup.Peek{}, l.Fail(broker.OrEnd(ctx, err))
	}
	if !stop() { // from here on it ends in order, so that what it holds goes back at once
		return dedup.Peek{}, l.Fail(ctx.Err())
	}
	ready := int64(live.Messages)
	described.Ready = &ready
	if err := l.mayPeek(described, limit); err != nil {
		return dedup.Peek{}, err
	}
	p := &peeker{link: l, bodies: s, described: described, limit: limit, maxBytes: maxBytes, peek: dedup.Peek{Queue: queue, At: time.Now(), Ready: ready}}
	return p.run(ctx, live)
}

// mayPeek returns why a queue must not be peeked at.
func (l *Link) mayPeek(q dedup.Queue, limit int) error {
	version, _ := l.conn.Properties["version"].(string)
	risk := dedup.Returning(dedup.BrokerInfo{Version: version}, q)
	if risk.Harmless && risk.Room != nil && int64(limit) > *risk.Room {
		risk.Harmless = false
		risk.Why = fmt.Sprintf("it is bounded and has room for %d more: what arrives while %d are held could push out what comes back", *risk.Room, limit)
	}
	if risk.Harmless {
		return nil
	}
	return &broker.Error{Kind: broker.NotPossible, Broker: l.mover.Name, Request: l.what, Text: risk.Why}
}

// Ready returns how many messages of a queue are ready at this moment: what the management API says is up to 5 s old. It needs no
// permission and touches no message.
func (m *Mover) Ready(ctx context.Context, queue dedup.QueueRef) (int64, error) {
	l, done, err := m.OpenBriefly(ctx, queue.Vhost, "peek", fmt.Sprintf("read the depth of queue %s of vhost %s", broker.Quote(queue.Name), broker.Quote(queue.Vhost)))
	if err != nil {
		return 0, err
	}
	defer done()
	live, err := inspect(l.Channel, queue.Name)
	if err != nil {
		return 0, l.Fail(broker.OrEnd(ctx, err))
	}
	return int64(live.Messages), nil
}

// inspect counts the messages of a queue that are ready, and its consumers. A queue that is missing ends the channel.
func inspect(channel *amqp.Channel, queue string) (amqp.Queue, error) {
	const durable, autoDelete, exclusive, noWait = true, false, false, false
	return channel.QueueDeclarePassive(queue, durable, autoDelete, exclusive, noWait, nil)
}

// awaitReturn waits, for a while, until a queue has n messages ready that were given back to it. Where it has consumers, or a time to live,
// they may be gone at once, and nobody can tell. The channel that held them has ended before.
func (l *Link) awaitReturn(queue string, n int) {
	guard := time.AfterFunc(returnWithin, l.Abort) // a queue that does not answer keeps nobody
	defer guard.Stop()
	channel, err := l.Another()
	if err != nil {
		return
	}
	defer channel.Close()
	askUntil(func() bool {
		q, err := inspect(channel, queue)
		return err != nil || q.Messages >= n || q.Consumers > 0
	})
}

const (
	// firstAsk is how long it is waited before a broker is asked the same once more. Each further wait is half as long again, up to lastAsk: most
	// queues have their messages back within milliseconds, and one that has not is busy.
	firstAsk = 5 * time.Millisecond
	lastAsk  = 250 * time.Millisecond
)

// askUntil asks, at once and then less and less often, until the answer is yes.
func askUntil(yes func() bool) {
	for wait := firstAsk; !yes(); wait = min(wait+wait/2, lastAsk) {
		time.Sleep(wait)
	}
}
