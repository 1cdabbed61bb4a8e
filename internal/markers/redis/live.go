package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

var _ markers.Reader = (*store)(nil)

const (
	// mostLooked is how many keys one Look takes, mostAtOnce how many of them one pipeline does.
	mostLooked = 1000
	mostAtOnce = 50
	// longestCompared is the longest value that a sighting holds, longestGlance the part of each that is read first.
	longestCompared = 1 << 20
	longestGlance   = 4 << 10
	// mostBytes bounds the values of one Look.
	mostBytes = 64 << 20
)

// Look returns the markers with these keys as they are now. A value of more than 1 MiB, a hash with more than a lock can
// have, and a key of another type than the scheme writes have neither Type nor Value: they can be told about, but not
// compared, and so never changed. The key of a retry counter gives a sighting of the counter in state failed.
func (s *store) Look(ctx context.Context, keys []string) ([]*dedup.Sighting, error) {
	if len(keys) > mostLooked {
		return nil, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("%d keys were asked for; at most %d are read at once", len(keys), mostLooked)}
	}
	ctx, cancel := context.WithTimeout(ctx, pace.LookTimeout)
	defer cancel()
	l := &look{asker{layout: s.layout, conn: s.rdb.Conn(), expiry: newExpiryBatch()}, mostBytes}
	defer l.conn.Close()
	s.own.add(keys...)
	var all []*dedup.Sighting
	for len(keys) > 0 {
		n := min(len(keys), mostAtOnce)
		found, err := l.read(ctx, keys[:n])
		if err != nil {
			return nil, s.explain.Explain(err)
		}
		all = append(all, found...)
		keys = keys[n:]
	}
	return all, nil
}

// asker reads keys over one connection, so that all of it is one server's.
type asker struct {
	layout *layout.Layout
	conn   *redis.Conn
	expiry *expiryBatch
	server string
}

// begin opens a pipeline; in front is the question for the server's name where it is not known.
func (a *asker) begin(ctx context.Context) (pipe redis.Pipeliner, info *redis.StringCmd) {
	pipe = a.conn.Pipeline()
	if a.server == "" {
		info = pipe.Info(ctx, "server")
	}
	return pipe, info
}

// exec sends a pipeline with the server's clock behind it.
func (a *asker) exec(ctx context.Context, pipe redis.Pipeliner, info *redis.StringCmd) (at, clock time.Time, err error) {
	now := pipe.Time(ctx)
	started := time.Now()
	// A key of another type fails its own command only.
	if _, err := pipe.Exec(ctx); err != nil && !client.IsAnswer(err, "") {
		return at, clock, err
	}
	if info != nil {
		if info.Err() != nil {
			return at, clock, info.Err()
		}
		a.server = client.ParseInfo(info.Val())["run_id"]
	}
	return started.Add(time.Since(started) / 2), now.Val(), now.Err()
}

// look reads keys within a budget of bytes.
type look struct {
	asker
	budget int
}

// glance is one key of a look: the commands that ask for it.
type glance struct {
	key, id  string
	class    layout.Class
	value    *asked
	expiry   *redis.IntCmd
	retryKey string
	retry    *asked
	lasts    *redis.IntCmd
}

// isLong reports whether the value of a string may go on behind what was read of it.
func (g *glance) isLong() bool {
	if g.value == nil {
		return false
	}
	text, _ := g.value.Text()
	return len(text) >= longestGlance
}

// read asks for a few keys in one pipeline. A value stands before its expiry: one that changes in between goes with a
// later expiry, and so cannot pass for what was seen before.
func (l *look) read(ctx context.Context, keys []string) ([]*dedup.Sighting, error) {
	glances := make([]*glance, len(keys))
	for i, key := range keys {
		glances[i] = &glance{key: key}
		glances[i].class, glances[i].id = l.layout.Known(key)
	}
	at, clock, err := l.ask(ctx, glances, longestGlance)
	if err != nil {
		return nil, err
	}
	found := make([]*dedup.Sighting, len(keys))
	for i, g := range glances {
		if found[i], err = l.sighting(g, at, clock); err != nil {
			return nil, err
		}
	}
	for i, g := range glances {
		if !g.isLong() {
			continue
		}
		if at, clock, err = l.ask(ctx, glances[i:i+1], longestCompared+1); err != nil {
			return nil, err
		}
		if found[i], err = l.sighting(g, at, clock); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ask sends the commands of the glances, the server's name before the first and its clock behind them.
func (l *look) ask(ctx context.Context, glances []*glance, bytes int) (at, clock time.Time, err error) {
	pipe, info := l.begin(ctx)
	for _, g := range glances {
		if g.class != layout.Foreign {
			l.put(ctx, pipe, g, bytes)
		}
	}
	at, clock, err = l.exec(ctx, pipe, info)
	for _, g := range glances {
		if err == nil && g.expiry != nil && l.expiry.outdated(g.expiry.Err()) {
			return l.ask(ctx, glances, bytes)
		}
	}
	return at, clock, err
}

func (l *look) put(ctx context.Context, pipe redis.Pipeliner, g *glance, bytes int) {
	lasts := func(key string) *redis.IntCmd {
		cmd := redis.NewIntCmd(ctx, l.expiry.command, key)
		_ = pipe.Process(ctx, cmd)
		return cmd
	}
	question := l.layout.Whole(g.key, bytes)
	if g.class == layout.Retry {
		question = layout.CounterOf(g.key)
	}
	g.value = put(ctx, pipe, question)
	g.expiry = lasts(g.key)
	if key, ok := l.layout.RetryKeyOf(g.id); ok && g.class == layout.Marker {
		g.retryKey, g.retry, g.lasts = key, put(ctx, pipe, layout.CounterOf(key)), lasts(key)
	}
}

// sighting makes the answers one; nil where the key is not there or is not of this store.
func (l *look) sighting(g *glance, at, clock time.Time) (*dedup.Sighting, error) {
	if g.class == layout.Foreign {
		return nil, nil
	}
	f, err := g.value.fetched()
	if err != nil {
		return nil, err
	}
	if err := g.expiry.Err(); err != nil {
		return nil, err
	}
	now := clock.UnixMilli()
	if f.Expiry = l.expiry.absolute(g.expiry.Val(), now); f.Expiry == layout.Gone {
		return nil, nil
	}
	if l.budget -= f.Size(); l.budget < 0 {
		return nil, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("the values of these markers have more than %d MiB together: look at fewer at once", mostBytes>>20)}
	}
	s := &dedup.Sighting{At: at, Clock: clock, Server: l.server, ExpiresMillis: f.Expiry}
	if g.class == layout.Retry {
		s.Marker = l.layout.Counter(g.key, g.id, f, now)
	} else {
		s.Marker = l.layout.Marker(g.key, l.layout.Decode(f), f.Expiry, now)
	}
	s.Key, s.ID = g.key, g.id
	s.Type, s.Value = exact(f, &s.Marker)
	return s, l.counted(g, s, now)
}

// exact returns the type and the value to compare with, and none where the value was not read whole.
func exact(f layout.Fetched, m *dedup.Marker) (string, []byte) {
	switch {
	case f.Problem != "", f.Cut:
		return "", nil
	case f.Size() > longestCompared:
		m.Detail = fmt.Sprintf("the value has more than %d bytes, too many to compare it", longestCompared)
		return "", nil
	case f.Fields != nil:
		value := layout.HashText(f.Fields)
		if value == nil {
			return "", nil
		}
		return "hash", value
	}
	return "string", []byte(f.Value)
}

// counted adds the retry counter.
func (l *look) counted(g *glance, s *dedup.Sighting, now int64) error {
	if g.retry == nil {
		return nil
	}
	f, err := g.retry.fetched()
	if err != nil {
		return err
	}
	if err := g.lasts.Err(); err != nil {
		return err
	}
	failures := int64(0)
	if f.Expiry = l.expiry.absolute(g.lasts.Val(), now); f.Expiry != layout.Gone {
		n, err := strconv.ParseInt(f.Value, 10, 64)
		if err != nil || f.Problem != "" {
			// Something else stands where the counter belongs.
			return nil
		}
		failures = n
		s.Retry = &dedup.RetryCounter{Key: g.retryKey, Value: f.Value, ExpiresMillis: f.Expiry}
	}
	s.Attempts = &failures
	return nil
}

// Lookup returns the marker of the message with this id, or its retry counter where there is no marker. Redis has no
// index on business keys.
func (s *store) Lookup(ctx context.Context, term string) ([]dedup.Sighting, error) {
	if !s.layout.Findable() {
		return nil, s.unsearchable()
	}
	if len(term) == 0 || len(term) > pace.MaxSampleKey {
		return nil, nil
	}
	marker, isMarker := s.layout.KeyOf(term)
	counter, isCounter := s.layout.RetryKeyOf(term)
	var keys []string
	if isMarker {
		keys = append(keys, marker)
	}
	if isCounter {
		keys = append(keys, counter)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	found, err := s.Look(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if f != nil {
			return []dedup.Sighting{*f}, nil
		}
	}
	return nil, nil
}
