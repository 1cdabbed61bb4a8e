package markers

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// Preset returns the ready description with this name, and whether there is one. Each call returns a fresh value, so
// that YAML can be laid over it.
func Preset(name string) (Config, bool) {
	switch name {
	case "redis-text-status":
		return redisTextStatus(), true
	case "redis-json-status":
		return redisJSONStatus(), true
	}
	return sqlPreset(name)
}

// PresetNames returns the names of the presets in the order of the documentation.
func PresetNames() []string {
	return append([]string{"redis-text-status", "redis-json-status"}, sqlPresetNames()...)
}

// redisTextStatus: SETNX msg:{id} processing, EXPIRE 300, later SET done, EXPIRE 86400; a failure deletes the marker and
// counts retry:{id}, and from 5 failures on the message is acked without its work.
func redisTextStatus() Config {
	return Config{
		Preset: "redis-text-status", Kind: kindRedisString,
		Match: "msg:*", Exclude: []string{"msg:dedup:*", "msg:processed:*"}, ID: `^msg:(.+)$`,
		Value:  Value{Codec: codecRaw},
		States: map[dedup.State][]string{dedup.Processing: {"processing"}, dedup.Done: {"done"}},
		Mark:   "before",
		TTL:    TTL{Processing: 300 * time.Second, Done: 24 * time.Hour},
		Retry:  Retry{Match: "retry:*", GiveUp: 5, TTL: 24 * time.Hour},
		// The failed SETNX of a redelivery is nacked with requeue: it loops while the marker lives.
		OnInFlight: "nack", OnFail: "delete",
		Sweep: defaultSweep(),
	}
}

// redisJSONStatus: SET msg:dedup:{id} processing NX EX 300, later SET {"status": "success", …} EX 86400; a failure
// deletes the marker.
func redisJSONStatus() Config {
	return Config{
		Preset: "redis-json-status", Kind: kindRedisString,
		Match: "msg:dedup:*", ID: `^msg:dedup:(.+)$`,
		Value:  Value{Codec: codecJSON, Path: "$.status"},
		States: map[dedup.State][]string{dedup.Processing: {"processing"}, dedup.Done: {"success"}},
		Mark:   "before",
		TTL:    TTL{Processing: 300 * time.Second, Done: 24 * time.Hour},
		// Consumers decode the bare word processing as JSON, fail, and nack with requeue.
		OnInFlight: "nack", OnFail: "delete",
		Sweep: defaultSweep(),
	}
}

func defaultSweep() Sweep {
	return Sweep{Duty: 0.05, MaxKeysPerSecond: 100_000, MaxBytesPerSecond: 8 << 20, Count: 500, Every: 10 * time.Second}
}
