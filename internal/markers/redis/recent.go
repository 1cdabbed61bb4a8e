package redis

import (
	"hash/maphash"
	"math/bits"
)

const (
	// generation is how many keys a generation holds; its table is at most half full.
	generation = 1 << 15
	tableSize  = 2 * generation
)

// recent remembers the last 32,768 to 65,536 keys of a pass, in 1 MiB whatever the size of the store. That is enough to
// count each key once: SCAN walks the buckets of the server's table in the order of their reversed bits, in which a
// bucket's halves are neighbours, so it repeats keys only when the table shrinks, and then only those of the one bucket
// that it stands in (https://redis.io/commands/scan; dictScan in Redis' dict.c).
type recent struct {
	seed     maphash.Seed
	now, old *[tableSize]uint64
	n        int
}

func newRecent() *recent {
	return &recent{seed: maphash.MakeSeed(), now: new([tableSize]uint64), old: new([tableSize]uint64)}
}

// add reports whether the key was not seen of late. Keys are told apart by 64-bit hashes.
func (r *recent) add(key string) bool {
	h := max(1, maphash.String(r.seed, key))
	if _, found := find(r.old, h); found {
		return false
	}
	slot, found := find(r.now, h)
	if found {
		return false
	}
	*slot = h
	if r.n++; r.n == generation {
		r.now, r.old, r.n = r.old, r.now, 0
		clear(r.now[:])
	}
	return true
}

// find returns the slot of h, or the free one where it belongs.
func find(table *[tableSize]uint64, h uint64) (*uint64, bool) {
	high, _ := bits.Mul64(h, tableSize)
	for i := high; ; i++ {
		slot := &table[i%tableSize]
		if *slot == h || *slot == 0 {
			return slot, *slot == h
		}
	}
}
