package known

import (
	"hash/maphash"
	"math/bits"
)

const (
	// generation is how many keys a generation holds. A table is at most half full, and begins with room for firstKeys: most stores are walked
	// every few seconds, and many hold no more.
	generation = 1 << 15
	firstKeys  = 1 << 9
)

// Recent remembers the last 32,768 to 65,536 keys of a pass, in at most 1 MiB whatever the size of the store. That is enough to
// count each key once: SCAN walks the buckets of the server's table in the order of their reversed bits, in which a
// bucket's halves are neighbours, so it repeats keys only when the table shrinks, and then only those of the one bucket
// that it stands in (https://redis.io/commands/scan; dictScan in Redis' dict.c).
type Recent struct {
	seed     maphash.Seed
	now, old []uint64
	n        int
}

// NewRecent returns one that remembers none.
func NewRecent() *Recent { return &Recent{seed: maphash.MakeSeed(), now: make([]uint64, 2*firstKeys)} }

// Add reports whether the key was not seen of late. Keys are told apart by 64-bit hashes.
func (r *Recent) Add(key string) bool {
	h := max(1, maphash.String(r.seed, key))
	if _, found := find(r.old, h); found {
		return false
	}
	slot, found := find(r.now, h)
	if found {
		return false
	}
	*slot = h
	switch r.n++; {
	case r.n == generation:
		r.now, r.old, r.n = r.old, r.now, 0
		if r.now == nil {
			r.now = make([]uint64, 2*generation)
		}
		clear(r.now)
	case 2*r.n == len(r.now):
		r.grow()
	}
	return true
}

// grow makes room for twice as many keys.
func (r *Recent) grow() {
	larger := make([]uint64, 2*len(r.now))
	for _, h := range r.now {
		if h != 0 {
			slot, _ := find(larger, h)
			*slot = h
		}
	}
	r.now = larger
}

// find returns the slot of h, or the free one where it belongs; an empty table has neither.
func find(table []uint64, h uint64) (slot *uint64, found bool) {
	size := uint64(len(table))
	if size == 0 {
		return nil, false
	}
	first, _ := bits.Mul64(h, size)
	for i := first; ; i++ {
		slot := &table[i%size]
		if *slot == h || *slot == 0 {
			return slot, *slot == h
		}
	}
}
