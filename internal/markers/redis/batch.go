package redis

import (
	"context"
	"time"

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

// fetch reads the values of items in the way that their layout reads them, each with its expiry, and the server's clock.
func (b *expiryBatch) fetch(ctx context.Context, conn *redis.Conn, items []item, how layout.Form) ([]layout.Fetched, int64, error) {
	asks := make([]ask, len(items))
	for i, item := range items {
		question := how.Ask
		if item.retry {
			question = layout.Beginning
		}
		asks[i] = ask{item.key, question(item.key)}
	}
	found, moment, err := b.read(ctx, conn.Pipeline(), asks)
	return found, moment.clock.UnixMilli(), err
}

// An ask is a key with the question for its value.
type ask struct {
	key      string
	question layout.Question
}

// A moment is when a server answered: by our clock, and by its own when it had answered.
type moment struct{ at, clock time.Time }

// read puts the questions in a pipeline, the expiry of each key right behind its value, and reads the server's clock after them all: a value that
// changes in between goes with a later expiry, and so cannot pass for what was there before.
func (b *expiryBatch) read(ctx context.Context, pipe redis.Pipeliner, asks []ask) (found []layout.Fetched, m moment, err error) {
	values, expiries := make([]*asked, len(asks)), make([]*redis.IntCmd, len(asks))
	for i, a := range asks {
		values[i] = put(ctx, pipe, a.question)
		expiries[i] = redis.NewIntCmd(ctx, b.command, a.key)
		_ = pipe.Process(ctx, expiries[i])
	}
	clock := pipe.Time(ctx)
	started := time.Now()
	// A key of another type fails its own command only.
	if _, err := pipe.Exec(ctx); err != nil && !client.IsAnswer(err, "") {
		return nil, m, err
	}
	m.at = started.Add(time.Since(started) / 2)
	if m.clock, err = clock.Result(); err != nil {
		return nil, m, err
	}
	found = make([]layout.Fetched, len(asks))
	for i := range asks {
		if found[i], err = values[i].fetched(); err != nil {
			return nil, m, err
		}
		if err := expiries[i].Err(); b.outdated(err) {
			return b.read(ctx, pipe, asks)
		} else if err != nil {
			return nil, m, err
		}
		found[i].Expiry = b.absolute(expiries[i].Val(), m.clock.UnixMilli())
	}
	return found, m, nil
}
