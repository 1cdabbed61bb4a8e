package known

import (
	"hash/maphash"
	"sync"
	"time"
)

// MostReads bounds the keys that are remembered as read by ourselves.
const MostReads = 50_000

// Reads remembers the keys whose values we have read beside the walk, for as long as a done marker lives: their idle time
// is our doing. The nil value remembers nothing. It is safe for concurrent use.
type Reads struct {
	mu       sync.Mutex
	seed     maphash.Seed
	life     time.Duration
	now, old map[uint64]struct{}
	turned   time.Time
	fullAt   time.Time
	reads    uint64
}

// NewReads returns one that remembers none. Done markers live so long.
func NewReads(life time.Duration) *Reads {
	return &Reads{seed: maphash.MakeSeed(), life: life, now: map[uint64]struct{}{}, turned: time.Now()}
}

// Add remembers keys that are read; without keys it notes that others are.
func (o *Reads) Add(keys ...string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads++
	if time.Since(o.turned) > o.life {
		o.now, o.old, o.turned = map[uint64]struct{}{}, o.now, time.Now()
	}
	for _, key := range keys {
		if len(o.now) >= MostReads {
			o.fullAt = time.Now()
			return
		}
		o.now[maphash.String(o.seed, key)] = struct{}{}
	}
}

// Count returns how often anything was read so far.
func (o *Reads) Count() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reads
}

// Has reports whether a key was read.
func (o *Reads) Has(key string) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	h := maphash.String(o.seed, key)
	_, now := o.now[h]
	_, old := o.old[h]
	return now || old
}

// Overflowed reports whether keys were read that are not remembered and may still be there.
func (o *Reads) Overflowed() bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.fullAt.IsZero() && time.Since(o.fullAt) <= o.life
}
