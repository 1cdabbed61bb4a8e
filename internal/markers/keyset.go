package markers

import "hash/maphash"

const (
	keysetShards = 1024
	// keysetLimit bounds the memory of a pass to about 100 MB. Behind it repeats are counted again; SCAN repeats keys
	// only while the server shrinks its table.
	keysetLimit = 8_000_000
)

// keyset remembers the keys of a pass by 64-bit hash, 9 to 18 bytes a key: SCAN may return a key twice. It is split into
// shards that grow one by one, so that growing never needs twice the memory.
type keyset struct {
	seed   maphash.Seed
	shards [keysetShards]shard
	n      int
}

type shard struct {
	slots []uint64
	n     int
}

func newKeyset() *keyset { return &keyset{seed: maphash.MakeSeed()} }

// add reports whether the key is new. Two keys of one hash would count as one: in 10^6 keys one time in 4·10^7.
func (k *keyset) add(key string) bool {
	if k.n >= keysetLimit {
		return true
	}
	h := maphash.String(k.seed, key)
	if h == 0 {
		h = 1
	}
	if !k.shards[h%keysetShards].add(h) {
		return false
	}
	k.n++
	return true
}

func (s *shard) add(h uint64) bool {
	if s.n >= len(s.slots)*7/8 {
		s.grow()
	}
	if !s.put(h) {
		return false
	}
	s.n++
	return true
}

func (s *shard) put(h uint64) bool {
	for i := (h / keysetShards) % uint64(len(s.slots)); ; i = (i + 1) % uint64(len(s.slots)) {
		switch s.slots[i] {
		case 0:
			s.slots[i] = h
			return true
		case h:
			return false
		}
	}
}

func (s *shard) grow() {
	old := s.slots
	s.slots = make([]uint64, max(8, len(old)*3/2))
	for _, h := range old {
		if h != 0 {
			s.put(h)
		}
	}
}
