package markers

import (
	"context"

	"github.com/redis/go-redis/v9"
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
// also be noExpiry or gone.
type expiry struct{ at, now int64 }

// Servers before 7.0 do not know PEXPIRETIME; there the remaining life is added to the server's clock.
const (
	absoluteExpiry  = "pexpiretime"
	remainingExpiry = "pttl"
)

func newExpiryBatch() *expiryBatch {
	b := &expiryBatch{command: absoluteExpiry}
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
		if isAnswer(err, "ERR unknown command") && b.command == absoluteExpiry {
			b.command = remainingExpiry
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return b.answers, nil
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
	if b.command == remainingExpiry && answer >= 0 {
		return now + answer
	}
	return answer
}

// fetched is the beginning of a value with its expiry; problem says why there is no value.
type fetched struct {
	value   string
	problem string
	expiry  int64
}

// fetch reads values, each with its expiry right behind it, and the server's clock after them all.
func (b *expiryBatch) fetch(ctx context.Context, conn *redis.Conn, items []item) ([]fetched, int64, error) {
	values := make([]*redis.StringCmd, len(items))
	expiries := make([]*redis.IntCmd, len(items))
	pipe := conn.Pipeline()
	for i, item := range items {
		values[i] = pipe.GetRange(ctx, item.key, 0, valueBytes-1)
		expiries[i] = redis.NewIntCmd(ctx, b.command, item.key)
		_ = pipe.Process(ctx, expiries[i])
	}
	clock := pipe.Time(ctx)
	// A key of another type fails its own command only.
	if _, err := pipe.Exec(ctx); err != nil && !isAnswer(err, "") {
		return nil, 0, err
	}
	now, err := clock.Result()
	if err != nil {
		return nil, 0, err
	}
	found := make([]fetched, len(items))
	for i := range items {
		switch err := values[i].Err(); {
		case isAnswer(err, "WRONGTYPE"):
			found[i].problem = "the key is not a string"
		case err != nil:
			return nil, 0, err
		}
		if err := expiries[i].Err(); isAnswer(err, "ERR unknown command") && b.command == absoluteExpiry {
			b.command = remainingExpiry
			return b.fetch(ctx, conn, items)
		} else if err != nil {
			return nil, 0, err
		}
		found[i].value = values[i].Val()
		found[i].expiry = b.absolute(expiries[i].Val(), now.UnixMilli())
	}
	return found, now.UnixMilli(), nil
}
