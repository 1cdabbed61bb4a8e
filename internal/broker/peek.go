package broker

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
)

// maxHeld is how long a look at a queue may hold its messages.
const maxHeld = 20 * time.Second

// Peek takes up to limit messages from the head of a queue, or less when they come to maxBytes or take 20 s, and puts them back
// with one answer. A queue where that can lose a message (dedup.Returning) is refused with NotPossible before it is touched.
func (m *Mover) Peek(ctx context.Context, queue dedup.QueueRef, limit int, maxBytes int64) (dedup.Peek, error) {
	what := fmt.Sprintf("look at queue %s of vhost %s", quote(queue.Name), quote(queue.Vhost))
	described, err := m.watch.Queue(ctx, queue)
	if err != nil {
		return dedup.Peek{}, err
	}
	l, err := m.open(ctx, queue.Vhost, "peek", what)
	if err != nil {
		return dedup.Peek{}, err
	}
	defer l.close()
	stop := context.AfterFunc(ctx, l.abort)
	ready, err := l.ready(ctx, queue)
	if err != nil {
		stop()
		return dedup.Peek{}, err
	}
	if !stop() { // from here on it ends in order, so that what it holds goes back with one answer
		return dedup.Peek{}, l.fail(ctx.Err())
	}
	described.Ready = &ready
	version, _ := l.conn.Properties["version"].(string)
	risk := dedup.Returning(dedup.BrokerInfo{Version: version}, described)
	if risk.Harmless && risk.Room != nil && int64(limit) > *risk.Room {
		risk.Harmless = false
		risk.Why = fmt.Sprintf("it is bounded and has room for %d more: what arrives while %d are held could push out what comes back", *risk.Room, limit)
	}
	if !risk.Harmless {
		return dedup.Peek{}, &Error{Kind: NotPossible, Broker: m.name, Request: what, Text: risk.Why}
	}
	return l.peek(ctx, queue, limit, maxBytes)
}

// Ready returns how many messages of a queue are ready at this moment: what the management API says is up to 5 s old. It needs no
// permission and touches no message.
func (m *Mover) Ready(ctx context.Context, queue dedup.QueueRef) (int64, error) {
	l, done, err := m.openBriefly(ctx, queue.Vhost, "peek", fmt.Sprintf("read the depth of queue %s of vhost %s", quote(queue.Name), quote(queue.Vhost)))
	if err != nil {
		return 0, err
	}
	defer done()
	return l.ready(ctx, queue)
}

func (l *link) ready(ctx context.Context, queue dedup.QueueRef) (int64, error) {
	live, err := l.channel.QueueDeclarePassive(queue.Name, true, false, false, false, nil)
	if err != nil {
		return 0, l.fail(orEnd(ctx, err))
	}
	return int64(live.Messages), nil
}

// peek needs a channel of its own, for it puts back whatever the channel holds.
func (l *link) peek(ctx context.Context, queue dedup.QueueRef, limit int, maxBytes int64) (dedup.Peek, error) {
	guard := time.AfterFunc(maxHeld+closeTimeout, l.abort)
	defer guard.Stop()
	peek := dedup.Peek{Queue: queue, At: time.Now()}
	var bytes int64
	for len(peek.Messages) < limit {
		if why := l.enough(ctx, &peek, bytes, maxBytes); why != "" {
			peek.Short = why
			break
		}
		d, ok, err := l.channel.Get(queue.Name, false)
		if err != nil {
			return dedup.Peek{}, l.fail(err)
		}
		if !ok {
			break
		}
		if len(peek.Messages) == 0 {
			peek.Ready = int64(d.MessageCount) + 1
		}
		bytes += int64(len(d.Body)) + int64(headerFrame(&amqp.Publishing{Headers: d.Headers}))
		peek.Messages = append(peek.Messages, message(&d))
	}
	if len(peek.Messages) > 0 {
		if err := l.channel.Nack(0, true, true); err != nil { // 0 is all; never a reject, which would dead-letter
			return dedup.Peek{}, l.fail(err)
		}
	}
	peek.Took = time.Since(peek.At)
	if err := l.channel.Close(); err != nil { // its answer says that they are back
		return dedup.Peek{}, l.fail(err)
	}
	return peek, ctx.Err()
}

// enough says why a look ends before its limit; empty when it goes on.
func (l *link) enough(ctx context.Context, peek *dedup.Peek, bytes, maxBytes int64) string {
	switch {
	case ctx.Err() != nil:
		return "it was given up"
	case bytes >= maxBytes:
		return fmt.Sprintf("%d bytes were read", bytes)
	case time.Since(peek.At) > maxHeld:
		return "messages were held for " + maxHeld.String()
	}
	return ""
}
