package redis_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// What a JVM wrote with ObjectOutputStream, OpenJDK 17: the bytes before the content of a String and of a Long.
const (
	javaStringHead = "aced000574"
	javaLongHead   = "aced00057372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565" +
		"787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b0200007870"
)

func unhex(text string) string {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func javaString(s string) string {
	return unhex(javaStringHead) + string(binary.BigEndian.AppendUint16(nil, uint16(len(s)))) + s
}

func javaLong(n int64) string {
	return unhex(javaLongHead) + string(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

// redisRow is one row of a scheme as its consumers leave it in Redis.
type redisRow struct {
	name   string
	preset string
	change func(c *markers.Config)
	key    string
	// value is a string, or fields a hash.
	value  string
	fields []string
	// ttl is the time to live that was set age ago; 0 for none.
	ttl time.Duration
	age time.Duration
	// more writes what stands beside the marker.
	more func(rdb *redis.Client)

	id       string
	state    dedup.State
	undated  bool
	owner    string
	attempts *int64
	// counterAlone says that the row is a retry counter without a marker.
	counterAlone bool
}

func with(codec string) func(c *markers.Config) {
	return func(c *markers.Config) { c.Value.Codec = codec }
}

func allJava(c *markers.Config) { c.Key.Codec, c.Value.Codec = "java", "java" }

func biz(change func(c *markers.Config)) func(c *markers.Config) {
	return func(c *markers.Config) {
		c.Match, c.ID, c.TTL.Done = "waiting:send:lock:*", "", 72*time.Hour
		if change != nil {
			change(c)
		}
	}
}

func redisRows(now time.Time) []redisRow {
	const day, holder = 24 * time.Hour, "8743c9c0-0795-4907-87fd-6c719a6b4586:57"
	started := now.Add(-40 * time.Second).UnixMilli()
	millis := strconv.FormatInt(started, 10)
	zero, three, five := int64(0), int64(3), int64(5)
	return []redisRow{
		{name: "R1 processing", preset: "redis-json-status", key: "msg:dedup:order:1", value: "processing", ttl: 300 * time.Second, age: 40 * time.Second,
			id: "order:1", state: dedup.Processing},
		{name: "R1 success", preset: "redis-json-status", key: "msg:dedup:0f3a", value: markerstest.JSONDone("支付 😀", now.Add(-40*time.Second)), ttl: day, age: 40 * time.Second,
			id: "0f3a", state: dedup.Done},
		{name: "R1 success, dated by its value alone", preset: "redis-json-status", key: "msg:dedup:p", value: markerstest.JSONDone("ok", now.Add(-40*time.Second)), age: 40 * time.Second,
			id: "p", state: dedup.Done},
		{name: "R1 id is md5(body)", preset: "redis-json-status", key: "msg:dedup:5d41402abc4b2a76b9719d911017c592", value: "processing", ttl: 300 * time.Second,
			id: "5d41402abc4b2a76b9719d911017c592", state: dedup.Processing},
		{name: "R2 presence without expiry", preset: "redis-presence", change: func(c *markers.Config) { c.Match = "order:*" }, key: "order:10010", value: "whatever\x00\xff",
			id: "order:10010", state: dedup.Present, undated: true},
		{name: "R3 processing", preset: "redis-text-status", key: "msg:order:1", value: "processing", ttl: 300 * time.Second, age: 40 * time.Second,
			id: "order:1", state: dedup.Processing, attempts: &zero},
		{name: "R3 processing without expiry", preset: "redis-text-status", key: "msg:order:1", value: "processing",
			id: "order:1", state: dedup.Processing, undated: true, attempts: &zero},
		{name: "R3 processing after three failures", preset: "redis-text-status", key: "msg:order:1", value: "processing", ttl: 300 * time.Second, age: time.Second,
			more: func(rdb *redis.Client) { rdb.Set(context.Background(), "retry:order:1", "3", day) },
			id:   "order:1", state: dedup.Processing, attempts: &three},
		{name: "R3 done", preset: "redis-text-status", key: "msg:order:1", value: "done", ttl: day, age: 2 * time.Hour,
			id: "order:1", state: dedup.Done, attempts: &zero},
		{name: "R3 given up after five failures", preset: "redis-text-status", key: "retry:order:1", value: "5", ttl: day, age: time.Hour,
			id: "order:1", state: dedup.Failed, attempts: &five, counterAlone: true},
		{name: "R4 done, StringRedisTemplate", preset: "redis-flag", change: biz(nil), key: "waiting:send:lock:b7", value: "1", ttl: 72 * time.Hour, age: 30 * time.Hour,
			id: "b7", state: dedup.Done},
		{name: "R4 done, JDK serialisation", preset: "redis-flag", change: biz(allJava), key: javaString("waiting:send:lock:b7"), value: unhex("aced000574000131"), ttl: 72 * time.Hour, age: 30 * time.Hour,
			id: "b7", state: dedup.Done},
		{name: "R4 done, Jackson", preset: "redis-flag", change: biz(with("json-quoted")), key: "waiting:send:lock:b7", value: `"1"`, ttl: 72 * time.Hour, age: 30 * time.Hour,
			id: "b7", state: dedup.Done},
		{name: "R5 done, StringRedisTemplate", preset: "redis-flag", key: "msg:processed:m1", value: "1", ttl: day, age: time.Hour, id: "m1", state: dedup.Done},
		{name: "R5 done, JDK serialisation", preset: "redis-flag", change: allJava, key: javaString("msg:processed:m1"), value: javaString("1"), ttl: day, age: time.Hour, id: "m1", state: dedup.Done},
		{name: "R5 done, Jackson", preset: "redis-flag", change: with("json-quoted"), key: "msg:processed:m1", value: `"1"`, ttl: day, age: time.Hour, id: "m1", state: dedup.Done},
		{name: "R6 present, StringRedisTemplate", preset: "redis-timestamp", key: "dedup:abc", value: millis, ttl: day, age: 40 * time.Second, id: "abc", state: dedup.Present},
		{name: "R6 present, JDK serialisation", preset: "redis-timestamp", change: allJava, key: unhex("aced000574000964656475703a616263"), value: javaLong(started), ttl: day, age: 40 * time.Second,
			id: "abc", state: dedup.Present},
		{name: "R6 present, Jackson", preset: "redis-timestamp", change: with("json-quoted"), key: "dedup:abc", value: millis, ttl: day, age: 40 * time.Second, id: "abc", state: dedup.Present},
		{name: "R6 present, Jackson with types", preset: "redis-timestamp", change: with("json-quoted"), key: "dedup:abc", value: `["java.lang.Long",` + millis + `]`, ttl: day, age: 40 * time.Second,
			id: "abc", state: dedup.Present},
		{name: "L1 Redisson lock of ten minutes", preset: "redisson-lock", change: func(c *markers.Config) { c.Match, c.ID, c.TTL.Processing = "order-lock-*", "", 10*time.Minute },
			key: "order-lock-10010", fields: []string{holder, "1"}, ttl: 10 * time.Minute, age: 3 * time.Second, id: "10010", state: dedup.Processing, owner: holder},
		{name: "L2 Redisson lock, entered twice", preset: "redisson-lock", key: "lock:msg:m1", fields: []string{holder, "2"}, ttl: 30 * time.Second, age: 3 * time.Second,
			id: "m1", state: dedup.Processing, owner: holder},
		{name: "L3 Redisson lock of a payment", preset: "redisson-lock", change: func(c *markers.Config) { c.Match, c.ID = "lock:order_pay:*", "" },
			key: "lock:order_pay:77", fields: []string{holder, "1"}, ttl: 30 * time.Second, age: 3 * time.Second, id: "77", state: dedup.Processing, owner: holder},
		{name: "L3 token lock", preset: "redis-token-lock", key: "lock:order_pay:77", value: "b2f8-token", ttl: 30 * time.Second, age: 3 * time.Second,
			id: "77", state: dedup.Processing, owner: "b2f8-token"},
	}
}

func TestEveryRowOfRedis(t *testing.T) {
	_, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	for i, row := range redisRows(time.Time{}) {
		t.Run(row.name, func(t *testing.T) {
			if err := rdb.FlushDB(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			row, now := rowNow(t, rdb, i)
			expires := int64(dedup.NoExpiry)
			if row.ttl > 0 {
				expires = now.Add(row.ttl - row.age).UnixMilli()
			}
			write(t, rdb, row, expires)
			cfg := markerstest.Config(t, row.preset, "redis://"+rdb.Options().Addr+"/0")
			if row.change != nil {
				row.change(&cfg)
			}
			store := markerstest.OpenStore(t, cfg)
			wantSighting(t, store, row, now, expires)
			wantCounted(t, store, row)
		})
	}
}

// rowNow returns a row as its consumers leave it now by the server's clock: a lease has not ended before its turn comes.
func rowNow(t *testing.T, rdb *redis.Client, i int) (redisRow, time.Time) {
	t.Helper()
	now, err := rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return redisRows(now)[i], now
}

func write(t *testing.T, rdb *redis.Client, row redisRow, expires int64) {
	t.Helper()
	_, err := rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		if row.fields != nil {
			p.HSet(t.Context(), row.key, row.fields)
		} else {
			p.Set(t.Context(), row.key, row.value, 0)
		}
		if expires > 0 {
			p.PExpireAt(t.Context(), row.key, time.UnixMilli(expires))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if row.more != nil {
		row.more(rdb)
	}
}

// wantSighting looks the row up by its id and compares everything that a sighting tells.
func wantSighting(t *testing.T, store markers.Store, row redisRow, now time.Time, expires int64) {
	t.Helper()
	found, err := store.(markers.Reader).Lookup(t.Context(), row.id)
	if err != nil || len(found) != 1 {
		t.Fatalf("lookup of %q: %v, %v", row.id, found, err)
	}
	s := found[0]
	age, end := "an unknown time", "never"
	if !s.Since.IsZero() {
		age = s.Clock.Sub(s.Since).Round(time.Second).String()
	}
	if !s.Expires.IsZero() {
		end = "in " + s.Expires.Sub(s.Clock).Round(time.Second).String()
	}
	t.Logf("key %q: id %q, %s for %s, expires %s, owner %q", s.Key, s.ID, s.State, age, end, s.Owner)
	if s.ID != row.id || s.Key != row.key || s.State != row.state || s.Owner != row.owner || s.Detail != "" {
		t.Errorf("sighting %+v", s.Marker)
	}
	if row.undated != s.Since.IsZero() || !row.undated && s.Since.Sub(now.Add(-row.age)).Abs() > 2*time.Millisecond {
		t.Errorf("since %s, want %s before %s", s.Since, row.age, now)
	}
	if s.ExpiresMillis != expires || expires > 0 != !s.Expires.IsZero() || expires > 0 && s.Expires.UnixMilli() != expires {
		t.Errorf("expires at %d (%s), want %d", s.ExpiresMillis, s.Expires, expires)
	}
	if (s.Attempts == nil) != (row.attempts == nil) || s.Attempts != nil && *s.Attempts != *row.attempts {
		t.Errorf("attempts %v, want %v", s.Attempts, row.attempts)
	}
	if wantType, value := "string", row.value; row.fields == nil && (s.Type != wantType || string(s.Value) != value) {
		t.Errorf("%s %q, want %q", s.Type, s.Value, value)
	}
	if row.fields != nil && (s.Type != "hash" || string(s.Value) != `{"`+row.fields[0]+`":"`+row.fields[1]+`"}`) {
		t.Errorf("%s %s", s.Type, s.Value)
	}
	if len(s.Server) != 40 || time.Since(s.At) > time.Minute || s.Clock.Before(now) {
		t.Errorf("server %q, at %s, clock %s", s.Server, s.At, s.Clock)
	}
}

// wantCounted compares what a pass counts, what browsing lists and what the check decodes with the row.
func wantCounted(t *testing.T, store markers.Store, row redisRow) {
	t.Helper()
	pass := markerstest.MustPass(t, store)
	if row.counterAlone {
		markerstest.WantStates(t, pass, nil)
		if len(pass.GaveUpMarkers) != 1 || pass.GaveUpMarkers[0].ID != row.id {
			t.Errorf("given up: %+v", pass.GaveUpMarkers)
		}
		return
	}
	markerstest.WantStates(t, pass, map[dedup.State]int64{row.state: 1})
	page, err := store.(markers.Reader).Browse(t.Context(), dedup.MarkerQuery{State: row.state, Match: row.id[1:], Limit: 10})
	if err != nil || len(page.Markers) != 1 || page.Markers[0].ID != row.id || page.Next != "" {
		t.Errorf("browsing: %+v, %v", page, err)
	}
	report, err := store.Check(t.Context(), 20)
	if err != nil || len(report.Samples) != 1 || len(report.Missing) > 0 {
		t.Fatalf("check: %+v, %v", report, err)
	}
	if m := report.Samples[0]; m.ID != row.id || m.State != row.state || strings.TrimSpace(m.Detail) != "" || m.Owner != row.owner {
		t.Errorf("sample %+v", m)
	}
}
