package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

// findAtOnce is how many ids one pipeline of a Find asks for: with at most three commands each, other clients wait for
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
	r := &finder{asker: asker{layout: s.layout, conn: s.rdb.Conn(), expiry: newExpiryBatch()}, own: s.own}
	defer r.conn.Close()
	for part := range slices.Chunk(f.IDs, findAtOnce) {
		if err := r.part(ctx, part, f); err != nil {
			return nil, s.explain.Explain(err)
		}
	}
	return f.Sightings, nil
}

func (s *store) unsearchable() error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("store %s cannot be searched by id: its setting id (%s) does not tell which key an id has", s.Name(), s.layout.Config.ID)}
}

// finder reads markers by their ids.
type finder struct {
	asker
	own *ownReads
}

// sought is one id of a Find: the commands that ask for its marker and its retry counter.
type sought struct {
	id, key, retryKey string
	value, retry      *asked
	expiry            *redis.IntCmd
}

// part looks for a few ids. A value stands before its expiry: one that changes in between goes with a later expiry, and
// so blocks for longer than it will, not shorter.
func (r *finder) part(ctx context.Context, ids []string, f *pace.Finding) error {
	all := make([]*sought, 0, len(ids))
	pipe, info := r.begin(ctx)
	for _, id := range ids {
		if s := r.put(ctx, pipe, id); s != nil {
			all = append(all, s)
		}
	}
	at, clock, err := r.exec(ctx, pipe, info)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(s *sought) bool { return s.expiry != nil && r.expiry.outdated(s.expiry.Err()) }) {
		return r.part(ctx, ids, f)
	}
	counted, err := r.counters(ctx, all)
	if err != nil {
		return err
	}
	for i, s := range all {
		found, err := r.sighting(s, counted[i], clock)
		if err != nil {
			return err
		}
		if found != nil {
			found.At, found.Clock, found.Server = at, clock, r.server
			f.Found(s.id, found)
		}
	}
	return nil
}

// put asks for the marker of one id; nil when the store can have none with it.
func (r *finder) put(ctx context.Context, pipe redis.Pipeliner, id string) *sought {
	s := &sought{id: id}
	isMarker, isCounter := false, false
	s.key, isMarker = r.layout.KeyOf(id)
	s.retryKey, isCounter = r.layout.RetryKeyOf(id)
	if isMarker {
		r.own.add(s.key)
		s.value = put(ctx, pipe, r.layout.Form.Ask(s.key))
		s.expiry = redis.NewIntCmd(ctx, r.expiry.command, s.key)
		_ = pipe.Process(ctx, s.expiry)
	}
	if isCounter {
		s.retry = put(ctx, pipe, layout.CounterOf(s.retryKey))
	}
	if !isMarker && !isCounter {
		return nil
	}
	return s
}

// counters asks when the retry counters end that are there, and returns the answers in the order of all.
func (r *finder) counters(ctx context.Context, all []*sought) ([]expiry, error) {
	var keys []string
	for _, s := range all {
		if s.counts() {
			keys = append(keys, s.retryKey)
		}
	}
	ends := make([]expiry, len(all))
	if len(keys) == 0 {
		return ends, nil
	}
	answers, err := r.expiry.ask(ctx, r.conn, keys)
	if err != nil {
		return nil, err
	}
	for i, s := range all {
		if s.counts() {
			ends[i], answers = answers[0], answers[1:]
		}
	}
	return ends, nil
}

// counts says whether something stands where the retry counter belongs.
func (s *sought) counts() bool {
	if s.retry == nil {
		return false
	}
	text, err := s.retry.Text()
	return text != "" || client.IsAnswer(err, "WRONGTYPE")
}

// sighting makes the answers one; nil where there is neither a marker nor a counter.
func (r *finder) sighting(s *sought, ends expiry, clock time.Time) (*dedup.Sighting, error) {
	now := clock.UnixMilli()
	counter, err := r.counter(s, ends, now)
	if err != nil || s.value == nil {
		return counter, err
	}
	f, err := s.value.fetched()
	if err != nil {
		return nil, err
	}
	if err := s.expiry.Err(); err != nil {
		return nil, err
	}
	if f.Expiry = r.expiry.absolute(s.expiry.Val(), now); f.Expiry == layout.Gone {
		return counter, nil
	}
	found := &dedup.Sighting{Marker: r.layout.Marker(s.key, r.layout.Decode(f), f.Expiry, now), ExpiresMillis: f.Expiry}
	found.ID, found.Sample = s.id, ""
	if counter != nil {
		found.Attempts = counter.Attempts
		if counter.Key != "" {
			found.Retry = counter.Retry
		}
	}
	return found, nil
}

// counter returns the retry counter as a sighting of its own, nil where there is none.
func (r *finder) counter(s *sought, ends expiry, now int64) (*dedup.Sighting, error) {
	if s.retry == nil {
		return nil, nil
	}
	f, err := s.retry.fetched()
	if f.Expiry = ends.at; err != nil || !s.counts() || f.Expiry == layout.Gone {
		return nil, err
	}
	c := &dedup.Sighting{Marker: r.layout.Counter(s.retryKey, s.id, f, now), ExpiresMillis: f.Expiry}
	if len(s.retryKey) > layout.LongestNamed {
		c.Key = ""
	}
	c.Retry = &dedup.RetryCounter{Key: c.Key, ExpiresMillis: f.Expiry}
	if c.Attempts != nil {
		c.Retry.Value = strconv.FormatInt(*c.Attempts, 10)
	}
	return c, nil
}
