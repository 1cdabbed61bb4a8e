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
	// cluster says that keys can be on their way to another node. away are those of the last read that are not served here, by their place.
	cluster bool
	away    map[int]error
}

// expiry is when a key expires, and the server's clock at that moment or later, both in milliseconds since 1970; at may
// also be NoExpiry or gone.
type expiry struct{ at, now int64 }

func newExpiryBatch(cluster bool) *expiryBatch {
	b := &expiryBatch{command: client.AbsoluteExpiry, cluster: cluster}
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
	_, err := pipe.Exec(ctx)
	if b.cluster && client.IsAnswer(err, "") {
		clock, err = b.askAgain(ctx, conn, b.commands[:len(keys)], clock)
	}
	if err != nil {
		return err
	}
	now := clock.Val().UnixMilli()
	for i := range keys {
		b.answers = append(b.answers, expiry{b.absolute(b.commands[i].Val(), now), now})
	}
	return nil
}

// askAgain asks once more for the keys that a node refers to another: those of a slot that comes to it are served to who says ASKING. The others
// have left it.
func (b *expiryBatch) askAgain(ctx context.Context, conn *redis.Conn, commands []*redis.IntCmd, clock *redis.TimeCmd) (*redis.TimeCmd, error) {
	pipe := conn.Pipeline()
	var away []*redis.IntCmd
	var asking []*redis.Cmd
	for _, c := range commands {
		switch err := c.Err(); {
		case client.Redirected(err):
			c.SetErr(nil)
			away, asking = append(away, c), append(asking, pipe.Do(ctx, "asking"))
			_ = pipe.Process(ctx, c)
		case err != nil:
			return nil, err
		}
	}
	clock = pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil && !client.IsAnswer(err, "") {
		return nil, err
	}
	for i, c := range away {
		if err := asking[i].Err(); err != nil {
			return nil, err
		}
		if client.Redirected(c.Err()) {
			c.SetErr(nil)
			c.SetVal(layout.Gone)
		} else if c.Err() != nil {
			return nil, c.Err()
		}
	}
	return clock, clock.Err()
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

// fetch reads the values of items in the way that their layout reads them, each with its expiry, and the server's clock. They were found on this
// server: one that it refers to another node is on its way, as in askAgain.
func (b *expiryBatch) fetch(ctx context.Context, conn *redis.Conn, items []item, how layout.Form) ([]layout.Fetched, int64, error) {
	asks := make([]ask, len(items))
	for i, item := range items {
		question := how.Ask
		if item.retry {
			question = layout.Beginning
		}
		asks[i] = ask{key: item.key, question: question(item.key)}
	}
	found, moment, err := b.read(ctx, conn.Pipeline(), asks)
	if err != nil || len(b.away) == 0 {
		return found, moment.clock.UnixMilli(), err
	}
	var places []int
	var again []ask
	for i := range b.away {
		asks[i].asking = true
		places, again = append(places, i), append(again, asks[i])
	}
	arrived, moment, err := b.read(ctx, conn.Pipeline(), again)
	for i, f := range arrived {
		found[places[i]] = f
	}
	return found, moment.clock.UnixMilli(), err
}

// An ask is a key with the question for its value.
type ask struct {
	key      string
	question layout.Question
	// asking is for a key of a slot that is coming to the node.
	asking bool
}

// A moment is when a server answered: by our clock, and by its own when it had answered.
type moment struct{ at, clock time.Time }

// read puts the questions in a pipeline, the expiry of each key right behind its value, and reads the server's clock after them all: a value that
// changes in between goes with a later expiry, and so cannot pass for what was there before. A key that another node of the cluster has is
// noted as away.
func (b *expiryBatch) read(ctx context.Context, pipe redis.Pipeliner, asks []ask) (found []layout.Fetched, m moment, err error) {
	values, expiries := make([]*asked, len(asks)), make([]*redis.IntCmd, len(asks))
	var asking []*redis.Cmd
	announce := func(a ask) {
		if a.asking {
			asking = append(asking, pipe.Do(ctx, "asking")) // it holds for one command
		}
	}
	for i, a := range asks {
		announce(a)
		values[i] = put(ctx, pipe, a.question)
		expiries[i] = redis.NewIntCmd(ctx, b.command, a.key)
		announce(a)
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
	for _, a := range asking {
		if a.Err() != nil {
			return nil, m, a.Err()
		}
	}
	found, b.away = make([]layout.Fetched, len(asks)), nil
	for i := range asks {
		if found[i], err = b.answer(i, values[i], expiries[i], m); b.outdated(err) {
			return b.read(ctx, pipe, asks)
		} else if err != nil {
			return nil, m, err
		}
	}
	return found, m, nil
}

// answer joins what was said of a key.
func (b *expiryBatch) answer(i int, value *asked, expires *redis.IntCmd, m moment) (layout.Fetched, error) {
	f, err := value.fetched()
	if err == nil {
		err = expires.Err()
	}
	switch {
	case b.cluster && client.Redirected(err):
		if b.away == nil {
			b.away = map[int]error{}
		}
		b.away[i] = err
		return layout.Fetched{Expiry: layout.Gone}, nil
	case err != nil:
		return layout.Fetched{}, err
	}
	f.Expiry = b.absolute(expires.Val(), m.clock.UnixMilli())
	return f, nil
}
