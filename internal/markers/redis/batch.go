package redis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

// expiryBatch asks for many expiries at once. It keeps its commands from batch to batch: at a million keys a pass,
// making them anew would cost more than the rest of the walk.
type expiryBatch struct {
	commands [maxPipeline]*redis.IntCmd
	keys     [maxPipeline]string
	command  string
	answers  []expiry
}

// expiry is when a key expires, and the server's clock at that moment or later, both in milliseconds since 1970; at may
// also be NoExpiry or gone.
type expiry struct{ at, now int64 }

func newExpiryBatch() *expiryBatch {
	b := &expiryBatch{command: client.AbsoluteExpiry}
	for i := range b.commands {
		b.commands[i] = redis.NewIntCmd(context.Background(), &b.command, &b.keys[i])
	}
	return b
}

// ask returns the expiries of the keys, in pipelines of at most maxPipeline. The server's clock is read behind each, so
// that no marker can seem to have more life than its consumer gave it. The slice is valid until the next call.
func (b *expiryBatch) ask(ctx context.Context, conn *redis.Conn, keys []string) ([]expiry, error) {
	b.answers = b.answers[:0]
	for len(b.answers) < len(keys) {
		rest := keys[len(b.answers):]
		err := b.exec(ctx, conn, rest[:min(len(rest), maxPipeline)])
		if b.outdated(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return b.answers, nil
}

// outdated turns to the command of older servers, once.
func (b *expiryBatch) outdated(err error) bool {
	old := client.IsAnswer(err, "ERR unknown command") && b.command == client.AbsoluteExpiry
	if old {
		b.command = client.RemainingExpiry
	}
	return old
}

func (b *expiryBatch) exec(ctx context.Context, conn *redis.Conn, keys []string) error {
	defer clear(b.keys[:])
	pipe := conn.Pipeline()
	for i, key := range keys {
		b.keys[i] = key
		b.commands[i].SetErr(nil)
		_ = pipe.Process(ctx, b.commands[i])
	}
	clock := pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	now := clock.Val().UnixMilli()
	for i := range keys {
		b.answers = append(b.answers, expiry{b.absolute(b.commands[i].Val(), now), now})
	}
	return nil
}

func (b *expiryBatch) absolute(answer, now int64) int64 {
	if b.command == client.RemainingExpiry && answer >= 0 {
		return now + answer
	}
	return answer
}

// asked is a question that a pipeline puts to the server.
type asked struct {
	layout.Question
	*redis.Cmd
}

func put(ctx context.Context, pipe redis.Pipeliner, q layout.Question) *asked {
	return &asked{q, pipe.Do(ctx, q.Command...)}
}

// fetched turns the answer into a value, which a key of another type has not.
func (a *asked) fetched() (layout.Fetched, error) {
	answer, err := a.Result()
	if client.IsAnswer(err, "WRONGTYPE") {
		return layout.Fetched{Problem: "the key is not a " + a.Type}, nil
	}
	if err != nil {
		return layout.Fetched{}, err
	}
	return a.Read(answer), nil
}

// fetch reads values, each with its expiry right behind it, and the server's clock after them all.
func (b *expiryBatch) fetch(ctx context.Context, conn *redis.Conn, items []item, how layout.Form) ([]layout.Fetched, int64, error) {
	values := make([]*asked, len(items))
	expiries := make([]*redis.IntCmd, len(items))
	pipe := conn.Pipeline()
	for i, item := range items {
		question := how.Ask
		if item.retry {
			question = layout.Beginning
		}
		values[i] = put(ctx, pipe, question(item.key))
		expiries[i] = redis.NewIntCmd(ctx, b.command, item.key)
		_ = pipe.Process(ctx, expiries[i])
	}
	clock := pipe.Time(ctx)
	// A key of another type fails its own command only.
	if _, err := pipe.Exec(ctx); err != nil && !client.IsAnswer(err, "") {
		return nil, 0, err
	}
	now, err := clock.Result()
	if err != nil {
		return nil, 0, err
	}
	found := make([]layout.Fetched, len(items))
	for i := range items {
		if found[i], err = values[i].fetched(); err != nil {
			return nil, 0, err
		}
		if err := expiries[i].Err(); b.outdated(err) {
			return b.fetch(ctx, conn, items, how)
		} else if err != nil {
			return nil, 0, err
		}
		found[i].Expiry = b.absolute(expiries[i].Val(), now.UnixMilli())
	}
	return found, now.UnixMilli(), nil
}
