package client

import (
	"cmp"
	"math/bits"
	"strings"
)

// slots is how many slots the keys of a Redis Cluster are spread over.
const slots = 16384

// Slot returns the slot of a key: the CRC16 (XMODEM) of its tag, or of all of it where it has none
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec, key distribution model).
func Slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % slots
}

// An Order says how a server goes through its keys, and counts the cursors of SCAN. Redis since 7.4 and Valkey since 8.0 keep a table for each slot of a
// cluster: the low bits of a cursor are the slot, those above the place in its table (addDictIndexToCursor in kvstore.c).
type Order struct{ BySlot bool }

// Place is where a cursor stands: its slot, 0 where the server has one table, and the place in the table as a fraction of 2^64. Redis counts places up
// from their high-order bit (dictScan in dict.c).
func (o Order) Place(cursor uint64) (slot int, part uint64) {
	if !o.BySlot {
		return 0, bits.Reverse64(cursor)
	}
	return int(cursor % slots), bits.Reverse64(cursor / slots)
}

// Compare orders cursors as a walk meets them; 0 is the beginning.
func (o Order) Compare(a, b uint64) int {
	slotA, partA := o.Place(a)
	slotB, partB := o.Place(b)
	return cmp.Or(cmp.Compare(slotA, slotB), cmp.Compare(partA, partB))
}
