package sql

import (
	"hash/maphash"
	"math/bits"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
)

const (
	// repeatRows is how many rows a generation of repeats holds: the last one or two hundred thousand rows of the walk are
	// searched for business keys with several ids.
	repeatRows  = 100_000
	repeatSlots = 1 << 18
	// maxRepeats and maxRepeatIDs bound the samples.
	maxRepeats   = 50
	maxRepeatIDs = 10
)

// repeats finds business keys that several ids carry, among the last rows of a walk, in 8 MiB. Keys and ids are told
// apart by 64-bit hashes.
type repeats struct {
	seed     maphash.Seed
	now, old []repeatSlot
	rows     int
	// from and before are the primary keys in front of the two generations; nil means from the beginning.
	from, before []string
	// keys counts the business keys with several ids, samples holds the first of them, in the order of their discovery.
	keys    int64
	samples map[string]*dedup.Repeat
	order   []string
}

// repeatSlot is a business key with the id that it was first seen with, or severalIDs once a second one was found.
type repeatSlot struct{ key, id uint64 }

// severalIDs is the hash of no id.
const severalIDs = 0

// newRepeats takes the tables of an earlier walk, which is over; nil makes new ones.
func newRepeats(spare *repeats) *repeats {
	r := &repeats{seed: maphash.MakeSeed(), samples: map[string]*dedup.Repeat{}}
	if spare == nil {
		r.now, r.old = make([]repeatSlot, repeatSlots), make([]repeatSlot, repeatSlots)
		return r
	}
	r.now, r.old, spare.now, spare.old = spare.now, spare.old, nil, nil
	clear(r.now)
	clear(r.old)
	return r
}

// add takes a row in. behind is called for the primary key in front of the row when a new generation begins.
func (r *repeats) add(businessKey, id []byte, behind func() []string) {
	if r.rows == repeatRows {
		r.now, r.old, r.rows = r.old, r.now, 0
		r.before, r.from = r.from, behind()
		clear(r.now)
	}
	r.rows++
	key, own := max(1, maphash.Bytes(r.seed, businessKey)), max(1, maphash.Bytes(r.seed, id))
	slot := r.slot(r.now, key)
	if slot.key == 0 {
		*slot = repeatSlot{key: key, id: own}
		if known := r.slot(r.old, key); known.key == key {
			slot.id = known.id
		}
	}
	if slot.id == severalIDs || slot.id == own {
		return
	}
	slot.id = severalIDs
	r.keys++
	if text := string(businessKey); len(r.samples) < maxRepeats && len(text) <= pace.MaxSampleKey {
		r.samples[text] = &dedup.Repeat{BusinessKey: text}
		r.order = append(r.order, text)
	}
}

// slot returns the slot of key, or the free one where it belongs.
func (r *repeats) slot(table []repeatSlot, key uint64) *repeatSlot {
	high, _ := bits.Mul64(key, repeatSlots)
	for i := high; ; i++ {
		if slot := &table[i%repeatSlots]; slot.key == key || slot.key == 0 {
			return slot
		}
	}
}

// collect adds a row of the second look, which names the ids of the samples.
func (r *repeats) collect(businessKey, id []byte) {
	sample := r.samples[string(businessKey)]
	if sample == nil {
		return
	}
	sample.Count++
	if len(sample.IDs) < maxRepeatIDs && len(id) <= pace.MaxSampleKey {
		sample.IDs = append(sample.IDs, string(id))
	}
}

// list returns the samples that still have several ids.
func (r *repeats) list() []dedup.Repeat {
	var all []dedup.Repeat
	for _, key := range r.order {
		if s := r.samples[key]; s.Count > 1 {
			all = append(all, *s)
		}
	}
	return all
}
