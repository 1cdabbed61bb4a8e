package layout

import (
	"maps"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
)

// A lateExpiry is one that a marker got later than it was set, so that it does not tell when the marker was set.
type LateExpiry struct {
	// Expires is the expiry in milliseconds since 1970 by the store's clock.
	Expires int64
	// Seen is since when, by our clock, the marker is known to be there.
	Seen time.Time
	// At is when we gave the expiry, by our clock; zero where it was somebody else.
	At time.Time
}

// LateExpiries remembers, by key, the newest late expiry of each marker, until it has expired. It is safe for concurrent use; a nil one
// remembers nothing.
type LateExpiries struct {
	mu  sync.Mutex
	all map[string]LateExpiry
	// full is how many there are when those that have expired are forgotten.
	full int
}

// fewLate is how many late expiries are no burden, though they have expired.
const fewLate = 1000

func newLateExpiries() *LateExpiries {
	return &LateExpiries{all: map[string]LateExpiry{}, full: fewLate}
}

// Note remembers a late expiry, and forgets those that have long expired.
func (g *LateExpiries) Note(key string, one LateExpiry) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all[key] = one; len(g.all) >= g.full {
		past := time.Now().Add(-time.Hour).UnixMilli() // the store's clock is not ours
		maps.DeleteFunc(g.all, func(_ string, old LateExpiry) bool { return old.Expires < past })
		g.full = max(fewLate, 2*len(g.all))
	}
}

// Find returns the late expiry that a marker with this expiry has, and whether it has one. A marker that was set anew has another expiry.
func (g *LateExpiries) Find(key string, expires int64) (LateExpiry, bool) {
	if g == nil {
		return LateExpiry{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	one, ok := g.all[key]
	return one, ok && (time.Duration(expires-one.Expires)*time.Millisecond).Abs() <= ExpiryTolerance
}

// KnownSince is since when, by our clock, a marker is known to be there.
func KnownSince(seen dedup.Sighting) time.Time {
	if seen.FirstSeen.IsZero() {
		return seen.At
	}
	return seen.FirstSeen
}

// Lived corrects what a marker says of its age where its expiry was given to it later.
func (l *Layout) Lived(m *dedup.Marker, key string, d codec.Decoded, expiry int64) {
	one, ok := l.Late.Find(key, expiry)
	if !ok {
		return
	}
	m.FirstSeen, m.ExpirySet = one.Seen, one.At
	if d.At.IsZero() {
		m.Since = time.Time{}
	}
}

// Puzzled notes markers of a pass that had no expiry in the pass before and have one now. They were given one, or cleared and set
// anew: their dates are those of the expiry no more than since this pass saw them.
func (l *Layout) Puzzled(last, pass *dedup.Pass) {
	if last == nil || l.Config.Kind == markers.RedisLock {
		return
	}
	bare := map[string]bool{}
	for _, m := range last.OldestProcessing {
		bare[m.Key] = m.Expires.IsZero() && m.Key != ""
	}
	for i := range pass.OldestProcessing {
		m := &pass.OldestProcessing[i]
		if !bare[m.Key] || m.Expires.IsZero() || !m.ExpirySet.IsZero() || m.Since.IsZero() ||
			!m.Since.Equal(m.Expires.Add(-l.Config.TTL.Processing)) {
			continue
		}
		m.Since = time.Time{}
		l.Late.Note(m.Key, LateExpiry{Expires: m.Expires.UnixMilli(), Seen: m.FirstSeen})
	}
}
