package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
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
	l := &look{seeker: s.seeker(), budget: mostBytes}
	defer l.close()
	s.own.Add(keys...)
	var all []*dedup.Sighting
	for part := range slices.Chunk(keys, mostAtOnce) {
		found, err := l.look(ctx, part)
		if err != nil {
			return nil, s.explain.Explain(err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// look reads keys with their exact values, up to a number of bytes.
type look struct {
	*seeker
	budget int
}

// look asks for a few keys in one pipeline, and for each long value again by itself.
func (l *look) look(ctx context.Context, keys []string) ([]*dedup.Sighting, error) {
	all := make([]sought, len(keys))
	for i, key := range keys {
		class, id := l.layout.Known(key)
		s := sought{id: id, key: key, hasKey: class != layout.Foreign, isCounter: class == layout.Retry}
		if class == layout.Marker {
			s.retryKey, s.hasRetry = l.layout.RetryKeyOf(id)
		}
		all[i] = s
	}
	seen, err := l.readUpTo(ctx, all, longestGlance)
	if err != nil {
		return nil, err
	}
	found := make([]*dedup.Sighting, len(keys))
	for i := range all {
		if len(seen[i].marker.Value) >= longestGlance {
			again, err := l.readUpTo(ctx, all[i:i+1], longestCompared+1)
			if err != nil {
				return nil, err
			}
			seen[i] = again[0]
		}
		if found[i], err = l.sighting(&all[i], seen[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readUpTo reads values up to so many bytes.
func (l *look) readUpTo(ctx context.Context, all []sought, bytes int) ([]seen, error) {
	return l.read(ctx, all, func(s *sought) layout.Question {
		if s.isCounter {
			return layout.CounterOf(s.key)
		}
		return l.layout.Whole(s.key, bytes)
	})
}

// sighting makes the answers one; nil where the key is not there or is not of this store.
func (l *look) sighting(k *sought, seen seen) (*dedup.Sighting, error) {
	f, now := seen.marker, seen.clock.UnixMilli()
	if f.Expiry == layout.Gone {
		return nil, nil
	}
	if l.budget -= f.Size(); l.budget < 0 {
		return nil, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("the values of these markers have more than %d MiB together: look at fewer at once", mostBytes>>20)}
	}
	s := &dedup.Sighting{At: seen.at, Clock: seen.clock, Server: seen.server, ExpiresMillis: f.Expiry}
	if k.isCounter {
		s.Marker = l.layout.Counter(k.key, k.id, f, now)
	} else {
		s.Marker = l.layout.Marker(k.key, l.layout.Decode(f), f.Expiry, now)
	}
	s.Key, s.ID = k.key, k.id
	s.Type, s.Value = exact(f, &s.Marker)
	if k.hasRetry {
		addRetry(s, k.retryKey, seen.counter)
	}
	return s, nil
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

// addRetry adds the retry counter to the sighting of its marker.
func addRetry(s *dedup.Sighting, key string, f layout.Fetched) {
	failures := int64(0)
	if f.Expiry != layout.Gone {
		n, err := strconv.ParseInt(f.Value, 10, 64)
		if err != nil || f.Problem != "" {
			// Something else stands where the counter belongs.
			return
		}
		failures = n
		s.Retry = &dedup.RetryCounter{Key: key, Value: f.Value, ExpiresMillis: f.Expiry}
	}
	s.Attempts = &failures
}

// KeysOf returns the raw keys that the marker of the message with this id and its retry counter would have, whether they are there or not.
func (s *store) KeysOf(id string) []string {
	if !s.layout.Findable() {
		return nil
	}
	var keys []string
	if marker, ok := s.layout.KeyOf(id); ok {
		keys = append(keys, marker)
	}
	if counter, ok := s.layout.RetryKeyOf(id); ok {
		keys = append(keys, counter)
	}
	return keys
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
	keys := s.KeysOf(term)
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
