package markers

import (
	"cmp"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

// A preset is a ready description with the name under which YAML asks for it. Each call of fill returns a fresh value,
// so that YAML can be laid over it.
type preset struct {
	name string
	fill func() Config
}

// presets returns every preset in the order of the documentation. A family of presets is one function in a file of its
// own and one term here.
func presets() []preset { return append(redisPresets(), sqlPresets()...) }

// Preset returns the ready description with this name, and whether there is one.
func Preset(name string) (Config, bool) {
	for _, p := range presets() {
		if p.name == name {
			c := p.fill()
			c.Preset, c.Sweep = name, defaultSweep(c.Kind)
			c.Key.Codec, c.Value.Codec = cmp.Or(c.Key.Codec, codec.Raw), cmp.Or(c.Value.Codec, codec.Raw)
			return c, true
		}
	}
	return Config{}, false
}

// PresetNames returns the names of the presets in the order of the documentation.
func PresetNames() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return names
}

func redisPresets() []preset {
	return []preset{
		{"redis-json-status", redisJSONStatus},
		{"redis-text-status", redisTextStatus},
		{"redis-hash-status", redisHashStatus},
		{"redis-presence", redisPresence},
		{"redis-flag", redisFlag},
		{"redis-timestamp", redisTimestamp},
		{"redisson-lock", redissonLock},
		{"redis-token-lock", redisTokenLock},
	}
}

// redisTextStatus: SETNX msg:{id} processing, EXPIRE 300, later SET done, EXPIRE 86400; a failure deletes the marker and
// counts retry:{id}, and from 5 failures on the message is acked without its work.
func redisTextStatus() Config {
	return Config{
		Kind:  RedisString,
		Match: "msg:*", Exclude: []string{"msg:dedup:*", "msg:processed:*"}, ID: `^msg:(.+)$`,
		States: map[dedup.State][]string{dedup.Processing: {"processing"}, dedup.Done: {"done"}},
		Mark:   "before",
		TTL:    TTL{Processing: 300 * time.Second, Done: 24 * time.Hour},
		Retry:  Retry{Match: "retry:*", GiveUp: 5, TTL: 24 * time.Hour},
		// The failed SETNX of a redelivery is nacked with requeue: it loops while the marker lives.
		OnInFlight: "nack", OnFail: "delete", Acks: acksEach,
		// Each delivery begins with one SETNX of its marker.
		Ask: "SETNX",
	}
}

// redisJSONStatus: SET msg:dedup:{id} processing NX EX 300, later SET {"status": "success", …, "time": …} EX 86400; a
// failure deletes the marker.
func redisJSONStatus() Config {
	return Config{
		Kind:  RedisString,
		Match: "msg:dedup:*", ID: `^msg:dedup:(.+)$`,
		Value:  codec.Value{Codec: codec.JSON, Path: "$.status", Time: "$.time", TimeUnit: codec.Seconds},
		States: map[dedup.State][]string{dedup.Processing: {"processing"}, dedup.Done: {"success"}},
		Mark:   "before",
		TTL:    TTL{Processing: 300 * time.Second, Done: 24 * time.Hour},
		// Consumers decode the bare word processing as JSON, fail, and nack with requeue.
		OnInFlight: "nack", OnFail: "delete", Acks: acksEach,
		// Each delivery begins with one GET of its marker.
		Ask: "GET",
	}
}

// redisHashStatus: HSETNX idempotency:{id} status processing, HSET at and consumer, EXPIRE 300, later HSET status done and at, EXPIRE
// 86400; a failure deletes the hash.
func redisHashStatus() Config {
	return Config{
		Kind:  RedisHash,
		Match: "idempotency:*", ID: `^idempotency:(.+)$`,
		Fields: Fields{Status: "status", Time: "at", TimeUnit: codec.Millis, Owner: "consumer"},
		States: map[dedup.State][]string{dedup.Processing: {"processing"}, dedup.Done: {"done"}},
		Mark:   "before",
		TTL:    TTL{Processing: 300 * time.Second, Done: 24 * time.Hour},
		// The failed HSETNX of a redelivery is nacked with requeue.
		OnInFlight: "nack", OnFail: "delete", Acks: acksEach,
	}
}

// redisPresence: SETNX {id} with any value, before the work, and nothing after it. The pattern of the keys is the
// shop's own, so that there is none to begin with.
func redisPresence() Config {
	return Config{
		Kind:   RedisString,
		ID:     `^(.+)$`,
		States: map[dedup.State][]string{dedup.Present: {codec.AnyValue}},
		Mark:   "before",
		// A delivery that finds the key is acked, whatever became of the one before; nothing deletes the key.
		OnInFlight: "ack", OnFail: "keep",
		Ask: "SETNX",
	}
}

// redisFlag: the key is looked for, the work is done, then SET msg:processed:{id} 1 EX 86400. Some keep it for 72 hours.
func redisFlag() Config {
	return Config{
		Kind:  RedisString,
		Match: "msg:processed:*", ID: `^msg:processed:(.+)$`,
		States: map[dedup.State][]string{dedup.Done: {"1"}},
		Mark:   "after",
		TTL:    TTL{Done: 24 * time.Hour},
		// Nothing marks a message in flight, so nothing can be hit; a failure leaves no marker.
		OnFail: "delete", Acks: acksEach,
		// Each delivery begins with hasKey, which is EXISTS.
		Ask: "EXISTS",
	}
}

// redisTimestamp: SET dedup:{id} {milliseconds since 1970} NX EX 86400 before the work; an exception deletes the key.
func redisTimestamp() Config {
	return Config{
		Kind:  RedisString,
		Match: "dedup:*", ID: `^dedup:(.+)$`,
		Value:  codec.Value{Time: codec.WholeValue, TimeUnit: codec.Millis},
		States: map[dedup.State][]string{dedup.Present: {codec.AnyValue}},
		Mark:   "before",
		TTL:    TTL{Done: 24 * time.Hour},
		// A delivery that finds the key is acked, even when the one before it crashed.
		OnInFlight: "ack", OnFail: "delete", Acks: acksEach,
		Ask: "SET",
	}
}

// redissonLock: RLock.tryLock of Redisson on lock:msg:{id}, a hash of client:thread to the depth of its entries, with a
// lease; a delivery that does not get the lock is logged and acked.
func redissonLock() Config {
	return Config{
		Kind:  RedisLock,
		Match: "lock:msg:*", ID: `^lock:msg:(.+)$`,
		Value:      codec.Value{Codec: codec.Redisson},
		Mark:       "before",
		TTL:        TTL{Processing: 30 * time.Second},
		OnInFlight: "ack", OnFail: "delete",
	}
}

// redisTokenLock: SET lock:order_pay:{id} {token} NX PX 30000, deleted by a script that compares the token.
func redisTokenLock() Config {
	return Config{
		Kind:  RedisLock,
		Match: "lock:order_pay:*", ID: `^lock:order_pay:(.+)$`,
		Value:      codec.Value{Codec: codec.Token},
		Mark:       "before",
		TTL:        TTL{Processing: 30 * time.Second},
		OnInFlight: "ack", OnFail: "delete",
	}
}

// defaultSweep is what a walk over a store of a kind may cost by default.
func defaultSweep(kind string) pace.Sweep {
	if kind == SQLTable {
		return pace.Sweep{Duty: 0.05, MaxKeysPerSecond: 100_000, Count: 5000, Every: 10 * time.Second}
	}
	return pace.Sweep{Duty: 0.05, MaxKeysPerSecond: 100_000, MaxBytesPerSecond: 8 << 20, Count: 100, Every: 10 * time.Second}
}
