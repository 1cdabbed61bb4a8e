package redis_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// cleared clears the marker and returns its image.
func cleared(t *testing.T, a markers.Actor, seen dedup.Sighting, alsoRetry bool) dedup.Sighting {
	t.Helper()
	var image dedup.Sighting
	want(t, a.Clear(t.Context(), seen, alsoRetry, func(i dedup.Sighting) error { image = i; return nil }), dedup.Cleared, "")
	return image
}

func TestARestoreWritesBackExactlyWhatWasCleared(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"on this Redis": nil,
		"on a Redis that knows neither PEXPIRETIME nor, so we take it, PXAT": {"--rename-command", "PEXPIRETIME", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server, rdb := markerstest.StartRedis(t, args...)
			old := args != nil
			a := actor(t, server.URL())
			locks := actorOf(t, lockConfig(t, server.URL()), server.URL())
			tokens := actorOf(t, tokenConfig(t, server.URL()), server.URL())
			for what, c := range map[string]struct {
				actor  markers.Actor
				write  []any
				expire bool
			}{
				"a string":                        {a, []any{"set", "msg:1", "processing"}, true},
				"a string of any bytes":           {a, []any{"set", "msg:2", "processing\x00\xff\r\n"}, true},
				"an empty string":                 {a, []any{"set", "msg:3", ""}, true},
				"a string of 1 MB":                {a, []any{"set", "msg:4", strings.Repeat("x", 1<<20)}, true},
				"a string without expiry":         {a, []any{"set", "msg:5", "processing"}, false},
				"a lock":                          {locks, []any{"hset", "lock:1", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"}, true},
				"a lock of several holders":       {locks, []any{"hset", "lock:2", "mode", "read", "<a>&:1", "1", "ü:2", "2"}, true},
				"a lock without expiry":           {locks, []any{"hset", "lock:3", "a:1", "1"}, false},
				"a token":                         {tokens, []any{"set", "lock:4", "token"}, true},
				"a retry counter without marker ": {a, []any{"set", "retry:9", "5"}, true},
			} {
				t.Run(what, func(t *testing.T) {
					key := c.write[1].(string)
					do(t, rdb, c.write...)
					expires := int64(-1)
					if c.expire {
						expires = time.Now().Add(time.Hour).UnixMilli() + rand.Int64N(1000)
						do(t, rdb, "pexpireat", key, expires)
					}
					seen := seeOld(t, rdb, key, old)
					image := cleared(t, c.actor, seen, false)
					if exists(t, rdb, key) {
						t.Fatal("it is there")
					}
					got := c.actor.Restore(t.Context(), image)
					want(t, got, dedup.Restored, "")
					now := seeOld(t, rdb, key, old)
					if now.Type != seen.Type || !bytes.Equal(now.Value, seen.Value) {
						t.Errorf("restored %s %q, want %s %q", now.Type, now.Value, seen.Type, seen.Value)
					}
					if at := now.ExpiresMillis; !old && at != expires || old && (at-expires > 100 || expires-at > 100) {
						t.Errorf("expires %d, want %d", at, expires)
					}
				})
			}
		})
	}
}

func TestARestoreNeverOverwritesAndNeverRevivesTheDead(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	image := func(key string, life time.Duration) dedup.Sighting {
		do(t, rdb, "set", key, "processing", "px", life.Milliseconds())
		return cleared(t, a, see(t, rdb, key, dedup.Processing), false)
	}
	t.Run("there is a marker again", func(t *testing.T) {
		i := image("msg:1", time.Minute)
		do(t, rdb, "set", "msg:1", "done", "ex", 86400)
		got := a.Restore(t.Context(), i)
		want(t, got, dedup.Refused, "there is a marker again: nothing was overwritten")
		if got.Now == nil || got.Now.State != dedup.Done || rdb.Get(t.Context(), "msg:1").Val() != "done" {
			t.Errorf("now %+v", got.Now)
		}
	})
	t.Run("its expiry has passed", func(t *testing.T) {
		i := image("msg:2", time.Minute)
		i.ExpiresMillis = rdb.Time(t.Context()).Val().UnixMilli()
		want(t, a.Restore(t.Context(), i), dedup.Refused, "already expired, nothing restored")
		if exists(t, rdb, "msg:2") {
			t.Error("it is there")
		}
	})
	t.Run("it is restored once", func(t *testing.T) {
		i := image("msg:3", time.Minute)
		want(t, a.Restore(t.Context(), i), dedup.Restored, "")
		want(t, a.Restore(t.Context(), i), dedup.Refused, "there is a marker again")
	})
	t.Run("the server is another one", func(t *testing.T) {
		i := image("msg:4", time.Minute)
		i.Server = "another"
		want(t, a.Restore(t.Context(), i), dedup.Restored, "")
	})
	t.Run("a consumer takes it at the same moment", func(t *testing.T) {
		told := map[dedup.Result]int{}
		for range 300 {
			i := image("msg:5", time.Minute)
			var wg sync.WaitGroup
			taken := false
			wg.Go(func() {
				after(3 * time.Millisecond)
				taken = rdb.SetNX(t.Context(), "msg:5", "processing", time.Hour).Val()
			})
			after(2 * time.Millisecond)
			got := a.Restore(t.Context(), i)
			wg.Wait()
			told[got.Result]++
			if restored := got.Result == dedup.Restored; restored == taken || restored != (expiryOf(t, rdb, "msg:5") == i.ExpiresMillis) {
				t.Fatalf("taken %v, told %+v, expires %d, image %+v", taken, got, expiryOf(t, rdb, "msg:5"), i)
			}
			do(t, rdb, "del", "msg:5")
		}
		t.Log(told)
	})
}

func TestARestoreBringsTheRetryCounterBackOnlyWhereThereIsNone(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	for name, c := range map[string]struct {
		change func(*dedup.Sighting)
		note   string
		value  string
	}{
		"none":    {func(*dedup.Sighting) {}, "", "5"},
		"another": {func(*dedup.Sighting) { do(t, rdb, "set", "retry:1", "1") }, "left alone", "1"},
		"expired": {func(i *dedup.Sighting) { i.Retry.ExpiresMillis = 1 }, "expired", ""},
	} {
		t.Run(name, func(t *testing.T) {
			do(t, rdb, "flushall")
			do(t, rdb, "set", "msg:1", "processing", "ex", 300)
			do(t, rdb, "set", "retry:1", "5", "ex", 86400)
			expires := expiryOf(t, rdb, "retry:1")
			i := cleared(t, a, see(t, rdb, "msg:1", dedup.Processing), true)
			if exists(t, rdb, "retry:1") || i.Retry == nil {
				t.Fatal("the counter was not cleared")
			}
			c.change(&i)
			want(t, a.Restore(t.Context(), i), dedup.Restored, c.note)
			if rdb.Get(t.Context(), "retry:1").Val() != c.value || c.value == "5" && expiryOf(t, rdb, "retry:1") != expires {
				t.Errorf("counter %q", rdb.Get(t.Context(), "retry:1").Val())
			}
		})
	}
}

// seeOld is see for a server that may not know PEXPIRETIME.
func seeOld(t testing.TB, rdb *redis.Client, key string, old bool) dedup.Sighting {
	t.Helper()
	if !old {
		return see(t, rdb, key, dedup.Processing)
	}
	seen := seeWith(t, rdb, key, dedup.Processing, func(testing.TB, *redis.Client, string) int64 { return -1 })
	// In one transaction: between two commands of a busy machine the life goes on.
	ctx, tx := context.Background(), rdb.TxPipeline()
	ttl, now := tx.PTTL(ctx, key), tx.Time(ctx)
	if _, err := tx.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	if left := ttl.Val(); left > 0 {
		seen.ExpiresMillis = now.Val().Add(left).UnixMilli()
	}
	return seen
}
