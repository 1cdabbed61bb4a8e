package marker_test

import (
	"context"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// shelf is a store in memory that really compares: it changes nothing that is not exactly as it was seen.
type shelf struct {
	mu      sync.Mutex
	server  string
	now     func() time.Time // our clock
	markers map[string]dedup.Sighting
	clears  map[string]int // successful clears by key
	err     error          // of every reading
	// jitter is how much later each reading says that a marker expires, as servers do that tell only what is left.
	jitter int64
	// before is called before a marker is changed, outside the lock.
	before func(ctx context.Context, key string)
}

func newShelf() *shelf {
	return &shelf{server: "run-1", now: time.Now, markers: map[string]dedup.Sighting{}, clears: map[string]int{}}
}

func (s *shelf) put(m dedup.Sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Store = "orders"
	m.Type = "string"
	if m.Value == nil {
		m.Value = []byte(m.State)
	}
	if m.ExpiresMillis != dedup.NoExpiry {
		m.Expires = time.UnixMilli(m.ExpiresMillis)
	}
	s.markers[m.Key] = m
}

func (s *shelf) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.markers[key]
	return ok
}

func (s *shelf) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.markers, key)
}

func (s *shelf) Look(_ context.Context, keys []string) ([]*dedup.Sighting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*dedup.Sighting, len(keys))
	for i, k := range keys {
		if m, ok := s.markers[k]; ok {
			m.Server, m.At = s.server, s.now()
			if m.ExpiresMillis != dedup.NoExpiry {
				m.ExpiresMillis += s.jitter
			}
			out[i] = &m
		}
	}
	return out, s.err
}

func (s *shelf) Lookup(_ context.Context, term string) ([]dedup.Sighting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []dedup.Sighting
	for _, m := range s.markers {
		if m.ID == term || m.BusinessKey == term {
			m.At = s.now()
			found = append(found, m)
		}
	}
	return found, s.err
}

func (s *shelf) KeysOf(id string) []string { return []string{processing(id).Key} }

func (s *shelf) Browse(context.Context, dedup.MarkerQuery) (dedup.MarkerPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := dedup.MarkerPage{At: s.now()}
	for _, m := range s.markers {
		page.Markers = append(page.Markers, m.Marker)
	}
	return page, s.err
}

func (s *shelf) enter(ctx context.Context, key string) {
	if s.before != nil {
		s.before(ctx, key)
	}
	s.mu.Lock()
}

func (s *shelf) compare(seen dedup.Sighting) *dedup.Outcome {
	now, ok := s.markers[seen.Key]
	switch {
	case !ok:
		return &dedup.Outcome{Result: dedup.Gone}
	case string(now.Value) != string(seen.Value) || now.ExpiresMillis-seen.ExpiresMillis > 100 || seen.ExpiresMillis-now.ExpiresMillis > 100 || now.Type != seen.Type:
		return &dedup.Outcome{Result: dedup.Changed, Text: "now " + string(now.State) + " again", Now: &now}
	}
	return nil
}

func (s *shelf) Clear(ctx context.Context, seen dedup.Sighting, _ bool, keep func(dedup.Sighting) error) dedup.Outcome {
	s.enter(ctx, seen.Key)
	defer s.mu.Unlock()
	if out := s.compare(seen); out != nil {
		return *out
	}
	if err := keep(s.markers[seen.Key]); err != nil {
		return dedup.Outcome{Result: dedup.Refused, Text: "the image could not be kept"}
	}
	delete(s.markers, seen.Key)
	s.clears[seen.Key]++
	return dedup.Outcome{Result: dedup.Cleared}
}

func (s *shelf) Expire(ctx context.Context, seen dedup.Sighting, ttl time.Duration) dedup.Outcome {
	s.enter(ctx, seen.Key)
	defer s.mu.Unlock()
	if out := s.compare(seen); out != nil {
		return *out
	}
	m := s.markers[seen.Key]
	m.ExpiresMillis = time.Now().Add(ttl).UnixMilli()
	s.markers[seen.Key] = m
	return dedup.Outcome{Result: dedup.ExpirySet, Now: &m}
}

func (s *shelf) Restore(ctx context.Context, image dedup.Sighting) dedup.Outcome {
	s.enter(ctx, image.Key)
	defer s.mu.Unlock()
	if now, there := s.markers[image.Key]; there {
		return dedup.Outcome{Result: dedup.Refused, Text: "the id has a marker again", Now: &now}
	}
	s.markers[image.Key] = image
	return dedup.Outcome{Result: dedup.Restored, Now: &image}
}
