package redis_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
)

// run walks in the background until the test ends.
func run(t *testing.T, store markers.Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		store.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// await polls until the stats hold what is asked for.
func await(t *testing.T, store markers.Store, what string, holds func(dedup.StoreStats, error) bool) dedup.StoreStats {
	t.Helper()
	deadline := time.After(90 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		stats, err := store.Stats(t.Context())
		if holds(stats, err) {
			return stats
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waiting until %s: last seen %+v, %v", what, stats.Progress, err)
		}
	}
}

func hasPass(stats dedup.StoreStats, err error) bool { return err == nil && stats.Pass != nil }

func walking(stats dedup.StoreStats, err error) bool {
	return err == nil && stats.Pass == nil && stats.Progress.Coverage > 0.1
}

// slowStore is a store whose first pass takes ten seconds, so that a test can act in the middle of it. On a busy machine, too: it is
// slow by its ceiling, and not by the share of a slow server's time.
func slowStore(t *testing.T, url string) markers.Store {
	cfg := markerstest.Config(t, "redis-text-status", url)
	cfg.Sweep.MaxKeysPerSecond, cfg.Sweep.Duty = 3000, 0.9
	cfg.Sweep.Every = time.Second
	return markerstest.OpenStore(t, cfg)
}

func fillMarkers(t *testing.T, rdb *redis.Client, mix markerstest.Mix) {
	t.Helper()
	if err := markerstest.Fill(t.Context(), rdb, markerstest.TextStatus(), mix); err != nil {
		t.Fatal(err)
	}
}

func TestASmallStoreIsReadAtOnceAndThenAgain(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 4000, Processing: 10})
	cfg := markerstest.Config(t, "redis-text-status", server.URL())
	cfg.Sweep.Every, cfg.Sweep.Duty = 30*time.Second, 0.9 // a share of the time that a busy server takes would be none of this
	store := markerstest.OpenStore(t, cfg)
	start := time.Now()
	run(t, store)
	first := await(t, store, "a pass is complete", hasPass)
	if took := time.Since(start); took > cfg.Sweep.Every {
		t.Errorf("the first pass took %s: it waited for the time of the second one", took)
	}
	if *first.Health.Keys != 4010 || first.Health.RunID == "" || first.Health.Version != "7.0.15" && first.Health.Version == "" ||
		first.Health.LatencyP99 <= 0 || first.Health.MemoryMax != nil || first.Health.Role != "master" {
		t.Errorf("health: %+v", first.Health)
	}
	await(t, store, "a second pass is complete", func(s dedup.StoreStats, err error) bool {
		return hasPass(s, err) && s.Pass.Started.After(first.Pass.Started)
	})
}

func TestAChangeOfTheStoreDuringAPassBeginsThePassAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(t *testing.T, server *servers.Redis, rdb *redis.Client)
		waiting string
	}{
		// It has read what was saved before it answers.
		"restart": {func(t *testing.T, server *servers.Redis, _ *redis.Client) {
			server.Kill()
			if err := server.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, "restarted"},
		"flush": {func(t *testing.T, _ *servers.Redis, rdb *redis.Client) {
			const script = `redis.call('flushall') for i = 1, 10000 do redis.call('set', 'msg:new-' .. i, 'done', 'EX', 86400) end`
			if err := rdb.Eval(t.Context(), script, nil).Err(); err != nil && !errors.Is(err, redis.Nil) {
				t.Fatal(err)
			}
		}, "emptied"},
		"role": {func(t *testing.T, _ *servers.Redis, rdb *redis.Client) {
			do(t, rdb, "replicaof", "127.0.0.1", "1")
		}, "role changed from master to slave"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, rdb := markerstest.StartRedis(t)
			fillMarkers(t, rdb, markerstest.Mix{Done: 10_000})
			do(t, rdb, "save") // what it has after a restart
			fillMarkers(t, rdb, markerstest.Mix{Done: 30_000})
			store := slowStore(t, server.URL())
			run(t, store)
			await(t, store, "the pass is on its way", walking)
			// The new markers are there at once: a pass over a store that is still being filled would soon end, and what it says with it.
			c.change(t, server, rdb)
			await(t, store, "the pass says why it began again", func(s dedup.StoreStats, err error) bool {
				return strings.Contains(s.Progress.Waiting, c.waiting)
			})
			if name == "role" {
				return
			}
			await(t, store, "a pass finds the new markers", func(s dedup.StoreStats, err error) bool {
				if hasPass(s, err) && s.Pass.Matched > 10_000 {
					t.Fatalf("a pass mixes markers from before with new ones: it found %d", s.Pass.Matched)
				}
				return hasPass(s, err) && s.Pass.Matched == 10_000
			})
		})
	}
}

func TestAStoppedStoreFailsInWordsAndRecovers(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 10})
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	run(t, store)
	await(t, store, "a pass is complete", hasPass)
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := store.Stats(t.Context())
	wantFault(t, err, "refused the connection")
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	fillMarkers(t, rdb, markerstest.Mix{Done: 20})
	// The pass of the old process must not be shown for the new one, even before the walk has noticed.
	stats, err := store.Stats(t.Context())
	if err != nil || stats.Pass != nil && stats.Pass.Matched == 10 {
		t.Errorf("after the restart: %+v, %v", stats.Pass, err)
	}
	await(t, store, "the store recovers", func(s dedup.StoreStats, err error) bool { return hasPass(s, err) && s.Pass.Matched == 20 })
}

func TestAPauseOfTheServerInterruptsThePassAndItGoesOn(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 30_000})
	store := slowStore(t, server.URL())
	run(t, store)
	before := await(t, store, "the pass is on its way", walking)
	// It stands still until the walk has met it too.
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(server.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	await(t, store, "readers and the walk are told", func(s dedup.StoreStats, err error) bool {
		if err != nil {
			wantFault(t, err, "did not answer in time")
		}
		return err != nil && strings.Contains(s.Progress.Waiting, "did not answer in time")
	})
	signal(syscall.SIGCONT)
	stats := await(t, store, "the pass is complete", hasPass)
	if !stats.Pass.Started.Equal(before.Progress.Started) {
		t.Error("the pass began again although the store did not change")
	}
	markerstest.WantStates(t, *stats.Pass, map[dedup.State]int64{dedup.Done: 30_000})
}

func TestKeysAreCountedOnceWhileTheServerShrinksItsTable(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 30_000})
	store := slowStore(t, server.URL())
	run(t, store)
	await(t, store, "the pass is on its way", walking)
	// What the walk has behind it is left alone; of what is ahead only a part remains, which makes the table shrink.
	pipe := rdb.Pipeline()
	for i := range 30_000 {
		if i%32 != 0 {
			pipe.Unlink(t.Context(), "msg:done-"+strconv.Itoa(i))
		}
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	stats := await(t, store, "the pass is complete", hasPass)
	// Each of the 938 that stayed was there throughout; those deleted may or may not have been seen.
	if n := stats.Pass.Matched; n < 938 || n > 25_000 {
		t.Errorf("matched %d", n)
	}
	second := await(t, store, "the next pass is complete", func(s dedup.StoreStats, err error) bool {
		return hasPass(s, err) && s.Pass.Started.After(stats.Pass.Started)
	})
	markerstest.WantStates(t, *second.Pass, map[dedup.State]int64{dedup.Done: 938})
}

func TestDoneMarkersKeepTheirIdleTime(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 500, Processing: 5, NoExpiry: 5})
	idle := func(key string) time.Duration {
		d, err := rdb.ObjectIdleTime(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	markerstest.WaitUntil(t, "all markers have been idle for 2 s", func() bool { return idle("msg:done-499") >= 2*time.Second && idle("msg:stuck-4") >= 2*time.Second })
	pass := markerstest.MustPass(t, markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL())))
	markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Done: 500, dedup.Processing: 10})
	for i := range 500 {
		if d := idle("msg:done-" + strconv.Itoa(i)); d < 2*time.Second {
			t.Fatalf("done marker %d was touched: idle for %s", i, d)
		}
	}
	if pass.ValuesRead < 10 || pass.ValuesRead > 20 {
		t.Errorf("%d values read", pass.ValuesRead)
	}
}
