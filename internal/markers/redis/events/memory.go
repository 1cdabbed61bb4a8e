package events

import "hash/maphash"

// remembered is how many keys a memory holds at least, once so many were put in; it holds at most twice as many.
const remembered = 1 << 16

// memory remembers a number for each of the keys that were put in last, by their 64-bit hashes: two generations, of which the
// older one is dropped when the newer one is full. It takes some MiB at most.
type memory struct {
	seed     maphash.Seed
	now, old map[uint64]int64
	limit    int
}

func newMemory() *memory {
	return &memory{seed: maphash.MakeSeed(), now: map[uint64]int64{}, limit: remembered}
}

func (m *memory) put(key string, n int64) {
	h := maphash.String(m.seed, key)
	delete(m.old, h)
	if _, known := m.now[h]; !known && len(m.now) >= m.limit {
		m.old, m.now = m.now, make(map[uint64]int64, m.limit)
	}
	m.now[h] = n
}

func (m *memory) get(key string) (int64, bool) {
	h := maphash.String(m.seed, key)
	if n, ok := m.now[h]; ok {
		return n, true
	}
	n, ok := m.old[h]
	return n, ok
}

func (m *memory) empty() bool { return len(m.now)+len(m.old) == 0 }

func (m *memory) has(key string) bool {
	_, ok := m.get(key)
	return ok
}

// drop forgets a key and says whether it was known.
func (m *memory) drop(key string) bool {
	known := m.has(key)
	h := maphash.String(m.seed, key)
	delete(m.now, h)
	delete(m.old, h)
	return known
}
