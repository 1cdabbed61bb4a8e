package demo

import (
	"bytes"
	"context"
	"time"

	"dedup-dashboard/internal/dedup"
)

// same returns the marker if it is still exactly as it was seen, and else what became of it. The caller holds mu.
func (s *Shelf) same(seen dedup.Sighting) (*dedup.Sighting, *dedup.Outcome) {
	now := s.seen(seen.Key)
	if now == nil {
		return nil, &dedup.Outcome{Result: dedup.Gone, Text: "there is no such marker any more"}
	}
	if !bytes.Equal(now.Value[:min(len(now.Value), len(seen.Value))], seen.Value) || now.ExpiresMillis != seen.ExpiresMillis {
		return nil, &dedup.Outcome{Result: dedup.Changed, Text: "now " + string(now.State), Now: now}
	}
	return now, nil
}

// Clear deletes a marker if it is still as it was seen.
func (s *Shelf) Clear(ctx context.Context, seen dedup.Sighting, alsoRetry bool, keep func(dedup.Sighting) error) dedup.Outcome {
	if err := s.wait(ctx); err != nil {
		return dedup.Outcome{Result: dedup.NotDone, Text: dedup.PublicText(err)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, other := s.same(seen)
	if other != nil {
		return *other
	}
	if err := keep(*now); err != nil {
		return dedup.Outcome{Result: dedup.NotDone, Text: "its image cannot be kept: " + dedup.PublicText(err)}
	}
	s.changes++
	delete(s.markers, seen.Key)
	text := ""
	if alsoRetry && now.Retry != nil {
		delete(s.retries, seen.Key)
		text = "with its retry counter"
	}
	return dedup.Outcome{Result: dedup.Cleared, Text: text}
}

// Expire gives a marker that never expires a time to live.
func (s *Shelf) Expire(ctx context.Context, seen dedup.Sighting, ttl time.Duration) dedup.Outcome {
	if err := s.wait(ctx); err != nil {
		return dedup.Outcome{Result: dedup.NotDone, Text: dedup.PublicText(err)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, other := s.same(seen)
	if other != nil {
		return *other
	}
	now.Expires = time.Now().Add(ttl).Truncate(time.Millisecond)
	now.ExpiresMillis = now.Expires.UnixMilli()
	s.changes++
	s.markers[seen.Key] = *now
	return dedup.Outcome{Result: dedup.ExpirySet, Text: "expires at " + now.Expires.UTC().Format("15:04:05 MST on 2 Jan"), Now: now}
}

// Restore writes an image back, unless its id has a marker again.
func (s *Shelf) Restore(ctx context.Context, image dedup.Sighting) dedup.Outcome {
	if err := s.wait(ctx); err != nil {
		return dedup.Outcome{Result: dedup.NotDone, Text: dedup.PublicText(err)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.seen(image.Key); now != nil {
		return dedup.Outcome{Result: dedup.Refused, Text: "the id has a marker again", Now: now}
	}
	if image.Retry != nil {
		s.retries[image.Key] = *image.Retry
	}
	s.changes++
	s.markers[image.Key] = image
	return dedup.Outcome{Result: dedup.Restored, Now: s.seen(image.Key)}
}
