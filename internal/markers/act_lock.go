package markers

import "strings"

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
