package preflight_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/admintest"
	"dedup-dashboard/lab/markerstest"
)

// TestOnRedisAHeldLockBlocksAndADoneFlagSkips has the scheme L2: a Redisson lock around a flag that says that a message was processed.
func TestOnRedisAHeldLockBlocksAndADoneFlagSkips(t *testing.T) {
	server, rdb := markerstest.StartRedis(t)
	open := func(preset, name string, change func(*markers.Config)) preflight.Store {
		cfg := markerstest.Config(t, preset, server.URL())
		cfg.Name = name
		change(&cfg)
		store := markerstest.OpenStore(t, cfg)
		return preflight.Store{Name: name, Scheme: store.Scheme(), Finder: store}
	}
	flags := open("redis-flag", "flags", func(*markers.Config) {})
	waiting := open("redisson-lock", "locks", func(c *markers.Config) { c.OnInFlight = "wait" })
	acking := open("redisson-lock", "hasty", func(*markers.Config) {})
	line := func(name, lock string) dedup.Pipeline {
		return dedup.Pipeline{Name: name, Store: "flags", Lock: lock, IDFrom: "message_id"}
	}
	p, err := preflight.New([]dedup.Pipeline{line("waits", "locks"), line("acks", "hasty"), line("bare", "")}, []preflight.Store{flags, waiting, acking})
	admintest.Must(t, err)
	now := time.Now()
	flag := func(id string) { setFlag(t, rdb, id) }
	lock := func(id string) {
		admintest.Must(t, rdb.HSet(t.Context(), "lock:msg:"+id, "6ba7b810-9dad-11d1-80b4-00c04fd430c8:31", 1).Err())
		admintest.Must(t, rdb.PExpire(t.Context(), "lock:msg:"+id, 10*time.Minute).Err())
	}
	flag("done")
	flag("done and held")
	lock("done and held")
	lock("held")
	ids := []string{"done", "done and held", "held", "free"}
	var letters []dedup.DeadLetter
	for _, id := range ids {
		letters = append(letters, deadLetter(id, now, nil))
	}
	for pipeline, want := range map[string][]preflight.Class{
		"waits": {preflight.ClassSkipped, preflight.ClassSkipped, preflight.ClassBlocks, preflight.ClassRuns},
		"acks":  {preflight.ClassSkipped, preflight.ClassSkipped, preflight.ClassPerhapsSwallowed, preflight.ClassRuns},
		"bare":  {preflight.ClassSkipped, preflight.ClassSkipped, preflight.ClassRuns, preflight.ClassRuns},
	} {
		got, err := p.Preflight(t.Context(), pipeline, letters, now.Add(time.Second))
		admintest.Must(t, err)
		for i, x := range got.Letters {
			if x.Class != want[i] {
				t.Errorf("%s, %s: %s, want %s: %s", pipeline, ids[i], x.Class, want[i], x.Why())
			}
		}
		held := got.Letters[2]
		if pipeline == "waits" && (held.Until.IsZero() || held.ClearFirst || !strings.Contains(held.Why(), "once it is free: runs")) {
			t.Errorf("%+v", held)
		}
	}
	got, err := p.Preflight(t.Context(), "waits", letters, now.Add(time.Hour))
	admintest.Must(t, err)
	if x := got.Letters[2]; x.Class != preflight.ClassRuns {
		t.Errorf("a lock that has ended by then: %s, %s", x.Class, x.Why())
	}
}

func setFlag(t *testing.T, rdb *redis.Client, id string) {
	t.Helper()
	key := "msg:processed:" + id
	if cfg, _ := markers.Preset("redis-flag"); !strings.HasPrefix(key, strings.TrimSuffix(cfg.Match, "*")) {
		key = strings.TrimSuffix(cfg.Match, "*") + id
	}
	admintest.Must(t, rdb.Set(t.Context(), key, "1", time.Hour).Err())
}

func TestALockThatCannotBeLookedUpMakesAllUnknownButWhatIsDone(t *testing.T) {
	flags := &cabinet{markers: map[string]*dedup.Sighting{"done": marked(dedup.Done, time.Hour)}}
	locks := &cabinet{err: &dedup.Error{Kind: dedup.Unavailable, Public: "Redis at 10.0.0.7 refused the connection"}}
	stores := []preflight.Store{{Name: "flags", Scheme: flagScheme(), Finder: flags}, {Name: "locks", Scheme: lockScheme(), Finder: locks}}
	p, err := preflight.New([]dedup.Pipeline{{Name: "orders", Store: "flags", Lock: "locks", IDFrom: "message_id"}}, stores)
	admintest.Must(t, err)
	letters := []dedup.DeadLetter{deadLetter("done", noon, nil), deadLetter("none", noon, nil), deadLetter("", noon, nil)}
	got, err := p.Preflight(t.Context(), "orders", letters, noon)
	admintest.Must(t, err)
	for i, want := range []preflight.Class{preflight.ClassSkipped, preflight.ClassUnknown, preflight.ClassMayRunTwice} {
		if x := got.Letters[i]; x.Class != want {
			t.Errorf("%q: %s, want %s: %s", x.ID, x.Class, want, x.Why())
		}
	}
	if why := got.Letters[1].Why(); !strings.Contains(why, "its lock") || !strings.Contains(why, "refused the connection") || got.StoreFailed != "" {
		t.Errorf("%q, store failed %q", why, got.StoreFailed)
	}
	if _, err := preflight.New([]dedup.Pipeline{{Name: "orders", Store: "flags", Lock: "lokcs", IDFrom: "message_id"}}, stores); err == nil || !strings.Contains(err.Error(), "lokcs") {
		t.Errorf("a lock in no store: %v", err)
	}
	if len(locks.asked) != 1 || !slices.Equal(locks.asked[0], []string{"done", "none"}) {
		t.Errorf("asked %v", locks.asked)
	}
}
