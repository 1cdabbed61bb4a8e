package client

import "strings"

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
