package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

// findAtOnce is how many ids one pipeline of a Find asks for: with at most four commands each, of which Redis takes some 16 KiB at a time, other clients wait for
// less than a millisecond.
const findAtOnce = 250

// Find returns the markers of the messages with these ids as they are now. The beginning of each value is read, of done
// markers too: what is left of a life tells the state only as long as consumers keep to the configured times, and here a
// message is discarded or sent again on the strength of it. Servers from 7.2 on do not count it as use. No value is kept.
func (s *store) Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error) {
	if !s.layout.Findable() {
		return nil, s.unsearchable()
	}
	f, err := pace.NewFinding(s.Name(), ids)
	if err != nil || len(f.IDs) == 0 {
		return pace.SightingsOf(f, err)
	}
	ctx, cancel := context.WithTimeout(ctx, pace.LookTimeout)
	defer cancel()
	r := s.seeker()
	defer r.conn.Close()
	for part := range slices.Chunk(f.IDs, findAtOnce) {
		if err := r.part(ctx, part, f); err != nil {
			return nil, s.explain.Explain(err)
		}
	}
	return f.Sightings(), nil
}

func (s *store) unsearchable() error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("store %s cannot be searched by id: its setting id (%s) does not tell which key an id has", s.Name(), s.layout.Config.ID)}
}

// A seeker reads single markers over one connection, so that all of it is one server's.
type seeker struct {
	layout *layout.Layout
	conn   *redis.Conn
	expiry *expiryBatch
	own    *ownReads
	// server is who answers; empty before the first answer.
	server string
}

func (s *store) seeker() *seeker {
	return &seeker{layout: s.layout, conn: s.rdb.Conn(), expiry: newExpiryBatch(), own: s.own}
}

// sought is a marker that is asked for, and its retry counter; each only where the store can have one.
type sought struct {
	id, key, retryKey string
	hasKey, hasRetry  bool
	// isCounter says that the key is that of a retry counter.
	isCounter bool
}

// seen is what stands where it was sought; gone where nothing can.
type seen struct {
	marker, counter layout.Fetched
	moment
}

// read asks for a few markers in one pipeline, with the questions for their values, and before the first of them for the server's name.
func (s *seeker) read(ctx context.Context, all []sought, value func(*sought) layout.Question) ([]seen, error) {
	var asks []ask
	for i := range all {
		if k := &all[i]; k.hasKey {
			asks = append(asks, ask{k.key, value(k)})
		}
		if k := &all[i]; k.hasRetry {
			asks = append(asks, ask{k.retryKey, layout.CounterOf(k.retryKey)})
		}
	}
	pipe := s.conn.Pipeline()
	var info *redis.StringCmd
	if s.server == "" {
		info = pipe.Info(ctx, "server")
	}
	found, m, err := s.expiry.read(ctx, pipe, asks)
	if err == nil && info != nil {
		s.server, err = client.ParseInfo(info.Val())["run_id"], info.Err()
	}
	if err != nil {
		return nil, err
	}
	next := func(asked bool) layout.Fetched {
		if !asked {
			return layout.Fetched{Expiry: layout.Gone}
		}
		f := found[0]
		found = found[1:]
		return f
	}
	answers := make([]seen, len(all))
	for i, k := range all {
		answers[i] = seen{next(k.hasKey), next(k.hasRetry), m}
	}
	return answers, nil
}

// part looks for a few ids.
func (r *seeker) part(ctx context.Context, ids []string, f *pace.Finding) error {
	all := make([]sought, len(ids))
	for i, id := range ids {
		s := &all[i]
		s.id = id
		s.retryKey, s.hasRetry = r.layout.RetryKeyOf(id)
		if s.key, s.hasKey = r.layout.KeyOf(id); s.hasKey {
			r.own.add(s.key)
		}
	}
	seen, err := r.read(ctx, all, func(s *sought) layout.Question { return r.layout.Form.Ask(s.key) })
	if err != nil {
		return err
	}
	for i, s := range seen {
		if found := r.found(&all[i], s); found != nil {
			found.At, found.Clock, found.Server = s.at, s.clock, r.server
			f.Found(all[i].id, found)
		}
	}
	return nil
}

// found makes a sighting of what was seen; nil where there is neither a marker nor a counter.
func (r *seeker) found(s *sought, seen seen) *dedup.Sighting {
	counter := r.counter(s, seen)
	f, now := seen.marker, seen.clock.UnixMilli()
	if f.Expiry == layout.Gone {
		return counter
	}
	found := &dedup.Sighting{Marker: r.layout.Marker(s.key, r.layout.Decode(f), f.Expiry, now), ExpiresMillis: f.Expiry}
	found.ID, found.Sample = s.id, ""
	if counter != nil {
		found.Attempts = counter.Attempts
		if counter.Key != "" {
			found.Retry = counter.Retry
		}
	}
	return found
}

// counter returns the retry counter as a sighting of its own, nil where there is none.
func (r *seeker) counter(s *sought, seen seen) *dedup.Sighting {
	f := seen.counter
	if f.Expiry == layout.Gone || f.Value == "" && f.Problem == "" {
		return nil
	}
	c := &dedup.Sighting{Marker: r.layout.Counter(s.retryKey, s.id, f, seen.clock.UnixMilli()), ExpiresMillis: f.Expiry}
	if len(s.retryKey) > layout.LongestNamed {
		c.Key = ""
	}
	c.Retry = &dedup.RetryCounter{Key: c.Key, ExpiresMillis: f.Expiry}
	if c.Attempts != nil {
		c.Retry.Value = strconv.FormatInt(*c.Attempts, 10)
	}
	return c
}
