package markers

import (
	"context"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A Reader reads single markers live, with the watching credentials, at a bounded cost. Every Store is one.
// Its errors are *dedup.Error like those of Store.
type Reader interface {
	// Look returns the markers with these raw keys as they are now, in the same order, with their retry counters; nil where
	// there is none. It takes at most 1,000 keys.
	Look(ctx context.Context, keys []string) ([]*dedup.Sighting, error)
	// Lookup returns every marker whose message id or business key is the term, at most 50, by lookups of keys and indexes
	// alone. Where the store has no index on business keys they are not searched. A retry counter without a marker is
	// returned as a sighting of its own in state failed.
	Lookup(ctx context.Context, term string) ([]dedup.Sighting, error)
	// Find returns for each message id the marker as it is now, in the same order, nil where there is none; a retry counter
	// without a marker is a sighting of its own in state failed, for which Sighting.CounterAlone holds. It takes at most 10,000
	// ids, each once or more often. No sighting has a Value: whoever acts on a marker looks at it again by its Key. An id that
	// the store cannot hold, so that consumers fail on it, gives a sighting in state unknown without a Key that says why.
	Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error)
	// Browse returns a page of markers. It ends early when it has examined 20,000 keys or rows, or for 1 s.
	Browse(ctx context.Context, q dedup.MarkerQuery) (dedup.MarkerPage, error)
}

// An Actor changes markers one at a time, with the acting credentials. No method ever changes a marker that is not
// exactly as it was seen. It never tries twice: after a lost connection it reads again and says what it found.
type Actor interface {
	// Name returns the configured name of the store.
	Name() string
	// Clear deletes the marker, and with alsoRetry its retry counter as it was seen. keep is called with the whole marker
	// after it was compared and before it is deleted; an error of keep stops the clear.
	Clear(ctx context.Context, seen dedup.Sighting, alsoRetry bool, keep func(image dedup.Sighting) error) dedup.Outcome
	// Expire gives a marker that never expires a time to live, the gentler remedy.
	Expire(ctx context.Context, seen dedup.Sighting, ttl time.Duration) dedup.Outcome
	// Restore writes an image back with its original absolute expiry, unless that has passed or the id has a marker again.
	Restore(ctx context.Context, image dedup.Sighting) dedup.Outcome
	// Close ends all connections.
	Close() error
}
