package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	redisstore "dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/lab/markerstest"
)

const races = 1000

// after waits for a random part of at most d.
func after(d time.Duration) { <-time.After(rand.N(d)) }

// tally counts what became of the races: results by name, and live markers that were deleted.
type tally struct {
	mu     sync.Mutex
	told   map[dedup.Result]int
	killed int
}

// race runs one race after another on several keys at a time. A race returns what the clear told and whether the live
// marker is missing.
func race(t *testing.T, n, workers int, one func(key string) (dedup.Result, bool)) *tally {
	t.Helper()
	all := &tally{told: map[dedup.Result]int{}}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				result, killed := one(fmt.Sprintf("msg:race-%d", i))
				all.mu.Lock()
				all.told[result]++
				if killed {
					all.killed++
				}
				all.mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d races: %v, %d live markers deleted", n, all.told, all.killed)
	return all
}

// caught checks that the races find out a clear that is wrong. A busy machine may need more of them.
func caught(t *testing.T, workers int, one func(key string) (dedup.Result, bool)) {
	t.Helper()
	for range 5 {
		if race(t, races/5, workers, one).killed > 0 {
			return
		}
	}
	t.Error("the races prove nothing: no live marker was deleted")
}

// byValue is the clear that every operator does by hand: it deletes what has the value that was seen.
func byValue(ctx context.Context, rdb *redis.Client, seen dedup.Sighting) dedup.Outcome {
	const script = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	if n, err := rdb.Eval(ctx, script, []string{seen.Key}, seen.Value).Int(); err != nil || n == 0 {
		return dedup.Outcome{Result: dedup.Gone}
	}
	return dedup.Outcome{Result: dedup.Cleared}
}

// expiring is a race in which a processing marker expires and is taken again by a consumer that lives. Its life is about as long as
// it takes to see it and to clear it, however fast the machine is: some end before, and some behind.
func expiring(t *testing.T, rdb *redis.Client, clear func(dedup.Sighting) dedup.Outcome) func(key string) (dedup.Result, bool) {
	var usual atomic.Int64 // how long both took of late
	usual.Store(int64(10 * time.Millisecond))
	return func(key string) (dedup.Result, bool) {
		var seen dedup.Sighting
		var saw time.Duration
		spread := time.Duration(usual.Load())
		for seen.Type != "string" || seen.ExpiresMillis < 0 {
			began := time.Now()
			do(t, rdb, "set", key, "processing", "px", (spread/2+rand.N(2*spread)).Milliseconds()+1)
			seen = see(t, rdb, key, dedup.Processing)
			saw = time.Since(began)
			spread = max(spread, saw)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				taken, err := rdb.SetNX(t.Context(), key, "processing", time.Minute).Result()
				if err != nil {
					t.Error(err)
				}
				if taken || err != nil {
					return
				}
			}
		})
		after(2 * spread)
		began := time.Now()
		result := clear(seen).Result
		usual.Store((7*usual.Load() + int64(saw+time.Since(began))) / 8)
		wg.Wait()
		return result, !exists(t, rdb, key)
	}
}

func TestNoLiveMarkerIsClearedForOneThatExpired(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	t.Run("by the actor", func(t *testing.T) {
		got := race(t, races, 8, expiring(t, rdb, func(seen dedup.Sighting) dedup.Outcome {
			return a.Clear(t.Context(), seen, false, markerstest.KeepNothing)
		}))
		if got.killed != 0 || got.told[dedup.Cleared] == 0 || got.told[dedup.Changed] == 0 {
			t.Errorf("%+v", got)
		}
	})
	do(t, rdb, "flushall")
	t.Run("a comparison of values alone is caught", func(t *testing.T) {
		caught(t, 8, expiring(t, rdb, func(seen dedup.Sighting) dedup.Outcome { return byValue(t.Context(), rdb, seen) }))
	})
}

// retaken is a race in which a marker without expiry is deleted elsewhere and taken again, by SETNX and then EXPIRE. A
// consumer that the machine kept from its EXPIRE for the whole hold is not counted as killed: no hold can see it.
func retaken(t *testing.T, rdb *redis.Client, a markers.Actor, hold time.Duration) func(key string) (dedup.Result, bool) {
	return func(key string) (dedup.Result, bool) {
		do(t, rdb, "set", key, "processing")
		seen := see(t, rdb, key, dedup.Processing)
		var gap time.Duration
		var wg sync.WaitGroup
		wg.Go(func() {
			after(hold + 10*time.Millisecond)
			do(t, rdb, "del", key)
			after(2 * time.Millisecond)
			began := time.Now()
			do(t, rdb, "setnx", key, "processing")
			after(hold / 4)
			do(t, rdb, "pexpire", key, 60000)
			gap = time.Since(began)
		})
		after(hold)
		result := a.Clear(t.Context(), seen, false, markerstest.KeepNothing).Result
		wg.Wait()
		return result, !exists(t, rdb, key) && gap < hold
	}
}

func TestNoLiveMarkerIsClearedForOneWithoutExpiry(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	t.Run("by the actor", func(t *testing.T) {
		got := race(t, races, 12, retaken(t, rdb, a, shortHold))
		if got.killed != 0 || got.told[dedup.Changed] == 0 {
			t.Errorf("%+v", got)
		}
	})
	do(t, rdb, "flushall")
	t.Run("a clear that does not hold is caught", func(t *testing.T) {
		hasty := actor(t, server.URL())
		redisstore.HoldFor(hasty, 0)
		caught(t, 12, retaken(t, rdb, hasty, 4*shortHold)) // a consumer on a busy machine sets its expiry within that
	})
}

func TestAMarkerWithoutExpiryIsHeldForFiveSeconds(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	redisstore.HoldFor(a, redisstore.WatchFor)
	var wg sync.WaitGroup
	wg.Go(func() {
		do(t, rdb, "set", "msg:dead", "processing")
		began := time.Now()
		want(t, a.Clear(t.Context(), see(t, rdb, "msg:dead", dedup.Processing), false, markerstest.KeepNothing), dedup.Cleared, "")
		if took := time.Since(began); took < 5*time.Second {
			t.Errorf("cleared after %s", took)
		}
	})
	wg.Go(func() {
		got := race(t, 8, 8, retaken(t, rdb, a, redisstore.WatchFor))
		if got.killed != 0 {
			t.Errorf("%+v", got)
		}
	})
	wg.Wait()
}
