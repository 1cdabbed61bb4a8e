package redis_test

import (
	"context"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

func TestClearingARedissonLockWakesThoseWhoWaitForIt(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actorOf(t, lockConfig(t, server.URL()), server.URL())
	for key, c := range map[string]struct {
		write   []any
		channel string
	}{
		"lock:msg:7":   {[]any{"hset", "lock:msg:7", firstHolder, "1"}, "redisson_lock__channel:{lock:msg:7}"},
		"lock:{pay}:7": {[]any{"hset", "lock:{pay}:7", firstHolder, "2"}, "redisson_lock__channel:lock:{pay}:7"},
	} {
		t.Run(key, func(t *testing.T) {
			waiter := rdb.Subscribe(t.Context(), c.channel)
			defer waiter.Close()
			if _, err := waiter.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			do(t, rdb, c.write...)
			do(t, rdb, "pexpire", key, 30000)
			seen := see(t, rdb, key, dedup.Processing)
			// The owner took it once more: another count, another lease.
			do(t, rdb, "hincrby", key, c.write[2], 1)
			want(t, a.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Changed, "prolonged by its owner")
			want(t, a.Clear(t.Context(), see(t, rdb, key, dedup.Processing), false, markerstest.KeepNothing), dedup.Cleared, "")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			message, err := waiter.ReceiveMessage(ctx)
			if err != nil || message.Payload != "0" {
				t.Errorf("woken by %+v, %v", message, err)
			}
		})
	}
}

// Two holders of Redisson locks, as it names them.
const (
	firstHolder  = "8743c9c0-0795-4907-87fd-6c719a6b4586:31"
	secondHolder = "0a1b2c3d-0795-4907-87fd-6c719a6b4586:7"
)

func TestALockThatAnotherTookIsNotCleared(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actorOf(t, lockConfig(t, server.URL()), server.URL())
	tokens := actorOf(t, tokenConfig(t, server.URL()), server.URL())
	const expires = 4102444800000
	for name, c := range map[string]struct {
		actor       markers.Actor
		before, now []any
		words       string
	}{
		"a Redisson lock": {a, []any{"hset", "lock:1", firstHolder, "1"}, []any{"hset", "lock:1", secondHolder, "1"},
			`now held by "` + secondHolder + `": expires 2100-01-01`},
		"a second holder": {a, []any{"hset", "lock:1", firstHolder, "1"}, []any{"hset", "lock:1", firstHolder, "1", secondHolder, "1"}, "now held by "},
		"a deeper entry":  {a, []any{"hset", "lock:1", firstHolder, "1"}, []any{"hset", "lock:1", firstHolder, "2"}, "prolonged by its owner"},
		"a string":        {a, []any{"hset", "lock:1", firstHolder, "1"}, []any{"set", "lock:1", "a"}, "unreadable (1 byte, sha256:ca978112)"},
		"a token":         {tokens, []any{"set", "lock:1", "a"}, []any{"set", "lock:1", "b"}, "now held by another token (1 byte, sha256:3e23e816): expires 2100-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			write := func(command []any) {
				do(t, rdb, "del", "lock:1")
				do(t, rdb, command...)
				do(t, rdb, "pexpireat", "lock:1", expires)
			}
			write(c.before)
			seen := see(t, rdb, "lock:1", dedup.Processing)
			write(c.now)
			want(t, c.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Changed, c.words)
		})
	}
	t.Run("a lock whose fields no image can hold is left alone", func(t *testing.T) {
		do(t, rdb, "flushall")
		do(t, rdb, "hset", "lock:1", "a\xff", "1")
		seen := see(t, rdb, "lock:1", dedup.Processing)
		if got := a.Clear(t.Context(), seen, false, markerstest.KeepNothing); got.Result == dedup.Cleared || !exists(t, rdb, "lock:1") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a hash of very many fields is not read", func(t *testing.T) {
		do(t, rdb, "flushall")
		do(t, rdb, "hset", "lock:1", firstHolder, "1")
		seen := see(t, rdb, "lock:1", dedup.Processing)
		args := []any{"hset", "lock:1"}
		for i := range 5000 {
			args = append(args, i, i)
		}
		do(t, rdb, args...)
		want(t, a.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Changed, "a hash of more than 1000 fields")
	})
}
