package markers

import (
	"maps"
	"slices"
	"strings"
)

// kindRedisLock is the kind of stores whose markers are locks: Redisson's hashes, or strings that hold a token.
const kindRedisLock = "redis-lock"

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

// owner names who holds a lock: the one field of a Redisson lock, the token of another. It is empty for what is no lock,
// or is held by several.
func (s *session) owner(r reading) string {
	switch {
	case s.layout.cfg.Kind != kindRedisLock:
		return ""
	case r.kind == typeString:
		return r.value
	case len(r.fields) == 1:
		return slices.Collect(maps.Keys(r.fields))[0]
	}
	return ""
}

// lockWords say what a lock is now that is not what was seen.
func (s *session) lockWords(r reading) string {
	before, now := s.owner(reading{kind: s.seen.Type, value: string(s.seen.Value), fields: s.fields}), s.owner(r)
	switch {
	case now == "":
		return "now held by several" + expiryWords(r)
	case now != before:
		return "now held by " + printable(now) + expiryWords(r)
	}
	return "now taken again or prolonged by its owner" + expiryWords(r)
}
