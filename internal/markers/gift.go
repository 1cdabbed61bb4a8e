package markers

import (
	"maps"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
)

// A lateExpiry is one that a marker got later than it was set, so that it does not tell when the marker was set.
type gift struct {
	// expires is the expiry in milliseconds since 1970 by the store's clock.
	expires int64
	// seen is since when, by our clock, the marker is known to be there.
	seen time.Time
	// at is when we gave the expiry, by our clock; zero where it was somebody else.
	at time.Time
}

// gifts remembers, by key, the newest gift of each marker, until it has expired. It is safe for concurrent use; a nil one
// remembers nothing.
type gifts struct {
	mu  sync.Mutex
	all map[string]gift
	// full is how many there are when those that have expired are forgotten.
	full int
}

// giftsFew is how many gifts are no burden, though they have expired.
const giftsFew = 1000

func newGifts() *gifts { return &gifts{all: map[string]gift{}, full: giftsFew} }

// note remembers a gift, and forgets those that have long expired.
func (g *gifts) note(key string, one gift) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all[key] = one; len(g.all) >= g.full {
		past := time.Now().Add(-time.Hour).UnixMilli() // the store's clock is not ours
		maps.DeleteFunc(g.all, func(_ string, old gift) bool { return old.expires < past })
		g.full = max(giftsFew, 2*len(g.all))
	}
}

// of returns the gift that a marker with this expiry has, and whether it has one. A marker that was set anew has another expiry.
func (g *gifts) of(key string, expires int64) (gift, bool) {
	if g == nil {
		return gift{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	one, ok := g.all[key]
	return one, ok && (time.Duration(expires-one.expires)*time.Millisecond).Abs() <= expiryTolerance
}

// knownSince is since when, by our clock, a marker is known to be there.
func knownSince(seen dedup.Sighting) time.Time {
	if seen.FirstSeen.IsZero() {
		return seen.At
	}
	return seen.FirstSeen
}

// lived corrects what a marker says of its age where its expiry was given to it later.
func (l *layout) lived(m *dedup.Marker, key string, d codec.Decoded, expiry int64) {
	one, ok := l.gifts.of(key, expiry)
	if !ok {
		return
	}
	m.FirstSeen, m.ExpirySet = one.seen, one.at
	if d.At.IsZero() {
		m.Since = time.Time{}
	}
}

// puzzled notes markers of a pass that had no expiry in the pass before and have one now. They were given one, or cleared and set
// anew: their dates are those of the expiry no more than since this pass saw them.
func (l *layout) puzzled(last, pass *dedup.Pass) {
	if last == nil || l.cfg.Kind == kindRedisLock {
		return
	}
	bare := map[string]bool{}
	for _, m := range last.OldestProcessing {
		bare[m.Key] = m.Expires.IsZero() && m.Key != ""
	}
	for i := range pass.OldestProcessing {
		m := &pass.OldestProcessing[i]
		if !bare[m.Key] || m.Expires.IsZero() || !m.ExpirySet.IsZero() || m.Since.IsZero() ||
			!m.Since.Equal(m.Expires.Add(-l.cfg.TTL.Processing)) {
			continue
		}
		m.Since = time.Time{}
		l.gifts.note(m.Key, gift{expires: m.Expires.UnixMilli(), seen: m.FirstSeen})
	}
}
