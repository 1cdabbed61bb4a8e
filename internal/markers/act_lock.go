package markers

import (
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
)

// wake returns the command that wakes those who wait for a Redisson lock, as its own forced unlock does, and nil for all
// other markers: who waits for a token lock asks again by itself. Source: RedissonBaseLock.getChannelName and
// RedissonObject.prefixName, which puts the name in braces unless it has some, and LockPubSub.UNLOCK_MESSAGE, 0.
func (s *session) wake() []any {
	if s.layout.cfg.Kind != kindRedisLock || s.seen.Type != typeHash {
		return nil
	}
	return []any{"publish", redissonChannel(s.seen.Key), "0"}
}

func redissonChannel(name string) string {
	if strings.Contains(name, "{") {
		return "redisson_lock__channel:" + name
	}
	return "redisson_lock__channel:{" + name + "}"
}

// lockWords say what a lock is now that is not what was seen.
func (s *session) lockWords(r reading, now dedup.Marker) string {
	before := s.marker(reading{kind: s.seen.Type, value: string(s.seen.Value), fields: s.fields, expires: s.seen.ExpiresMillis, clock: r.clock})
	switch {
	case now.Owner != before.Owner && r.kind == typeString: // the token is the value, and who knows it can end the lock
		return "now held by another token (" + s.outline(r) + ")" + expiryWords(r)
	case now.Owner != before.Owner:
		return "now held by " + codec.Printable(now.Owner) + expiryWords(r)
	}
	return "now taken again or prolonged by its owner" + expiryWords(r)
}
