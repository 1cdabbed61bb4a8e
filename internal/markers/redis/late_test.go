package redis_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/lab/markerstest"
)

// given starts a store with two markers that never expire, and returns it with what its first pass saw of them.
func given(t *testing.T) (cfg markers.Config, store markers.Store, was map[string]dedup.Marker) {
	t.Helper()
	server, rdb := markerstest.StartRedis(t)
	do(t, rdb, "set", "msg:ours", "processing")
	do(t, rdb, "set", "msg:theirs", "processing")
	cfg = markerstest.Config(t, "redis-text-status", server.URL())
	cfg.Sweep.Every = time.Second
	store = markerstest.OpenStore(t, cfg)
	run(t, store)
	first := await(t, store, "a pass is complete", hasPass)
	was = map[string]dedup.Marker{}
	for _, m := range first.Pass.OldestProcessing {
		was[m.ID] = m
	}
	if len(was) != 2 {
		t.Fatalf("the first pass has %+v", first.Pass.OldestProcessing)
	}
	return cfg, store, was
}

// later returns what passes that began after now say of a marker.
func later(t *testing.T, store markers.Store, id string) dedup.Marker {
	t.Helper()
	began := time.Now()
	var m dedup.Marker
	await(t, store, "a later pass lists "+id, func(s dedup.StoreStats, err error) bool {
		if !hasPass(s, err) || !s.Pass.Started.After(began) {
			return false
		}
		for _, x := range s.Pass.OldestProcessing {
			if x.ID == id {
				m = x
				return true
			}
		}
		return false
	})
	return m
}

func TestAnExpiryThatWeGaveDoesNotMakeAMarkerYounger(t *testing.T) {
	t.Parallel()
	for name, ttl := range map[string]time.Duration{"as long as its consumers give": 300 * time.Second, "longer, as done ones have": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, store, was := given(t)
			a := actorOf(t, cfg, cfg.Redis.URL.Reveal())
			redis.Acquaint(store, a)
			look := func(s markers.Store) dedup.Sighting {
				t.Helper()
				found, err := s.Look(t.Context(), []string{"msg:ours"})
				if err != nil || found[0] == nil {
					t.Fatalf("%v, %v", found, err)
				}
				return *found[0]
			}
			seen := look(store)
			seen.FirstSeen = was["ours"].FirstSeen
			out := a.Expire(t.Context(), seen, ttl)
			want(t, out, dedup.ExpirySet, "")
			right := func(what string, m dedup.Marker) {
				t.Helper()
				if m.State != dedup.Processing || !m.Since.IsZero() || !m.FirstSeen.Equal(was["ours"].FirstSeen) || m.Expires.IsZero() || m.ExpirySet.IsZero() {
					t.Errorf("%s: %+v, first seen %s", what, m, was["ours"].FirstSeen)
				}
			}
			right("the outcome", out.Now.Marker)
			right("a live reading", look(store).Marker)
			right("a pass", later(t, store, "ours"))
			right("the pass after it", later(t, store, "ours"))

			again := markerstest.OpenStore(t, cfg)
			redis.Remember(again, seen, out.Now.ExpiresMillis, time.Now())
			right("after a restart", look(again).Marker)

			rdb := markerstest.Client(t, cfg.Redis.URL.Reveal())
			do(t, rdb, "del", "msg:ours")
			do(t, rdb, "set", "msg:ours", "processing", "ex", 200) // it must not end with what we gave
			if m := look(store); m.Since.IsZero() || !m.ExpirySet.IsZero() || !m.FirstSeen.IsZero() {
				t.Errorf("taken anew: %+v", m)
			}
			if m := later(t, store, "ours"); m.Since.IsZero() || !m.FirstSeen.After(was["ours"].FirstSeen) {
				t.Errorf("taken anew, in a pass: %+v", m)
			}
		})
	}
}

func TestALockThatWeGaveAnExpiryIsNotRenewedByItsHolder(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	do(t, rdb, "set", "lock:ours", "token")
	cfg := tokenConfig(t, server.URL())
	cfg.Sweep.Every = time.Second
	store := markerstest.OpenStore(t, cfg)
	a := actorOf(t, cfg, server.URL())
	redis.Acquaint(store, a)
	run(t, store)
	first := later(t, store, "ours")
	seen := see(t, rdb, "lock:ours", dedup.Processing)
	seen.FirstSeen = first.FirstSeen
	want(t, a.Expire(t.Context(), seen, time.Minute), dedup.ExpirySet, "")
	for range 2 {
		if m := later(t, store, "ours"); m.Detail != "" || !m.Since.IsZero() || !m.FirstSeen.Equal(first.FirstSeen) {
			t.Errorf("%+v, first seen %s", m, first.FirstSeen)
		}
	}
}

func TestAnExpiryThatSomebodyGaveIsNoDate(t *testing.T) {
	t.Parallel()
	cfg, store, _ := given(t)
	do(t, markerstest.Client(t, cfg.Redis.URL.Reveal()), "expire", "msg:theirs", 200)
	began := time.Now()
	first := later(t, store, "theirs")
	second := later(t, store, "theirs")
	for _, m := range []dedup.Marker{first, second} {
		if !m.Since.IsZero() || m.Expires.IsZero() || m.FirstSeen.Before(began) || !m.FirstSeen.Equal(first.FirstSeen) {
			t.Errorf("%+v, first seen %s", m, first.FirstSeen)
		}
	}
	found, err := store.Look(t.Context(), []string{"msg:theirs"})
	if err != nil || found[0] == nil || !found[0].Since.IsZero() || !found[0].FirstSeen.Equal(first.FirstSeen) {
		t.Errorf("a live reading: %+v, %v", found[0], err)
	}
}
