package hash_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

const prefix = "idempotency:"

// claim writes a marker as consumers do: processing for five minutes.
func claim(t testing.TB, rdb *redis.Client, id string, at time.Time) {
	t.Helper()
	write(t, rdb, id, 5*time.Minute, "status", "processing", "at", at.UnixMilli(), "consumer", "worker-7", "payload", strings.Repeat("x", 4096))
}

func write(t testing.TB, rdb *redis.Client, id string, ttl time.Duration, fields ...any) {
	t.Helper()
	pipe := rdb.TxPipeline()
	pipe.HSet(t.Context(), prefix+id, fields...)
	if ttl > 0 {
		pipe.PExpire(t.Context(), prefix+id, ttl)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func actorOn(t testing.TB, cfg markers.Config) markers.Actor {
	t.Helper()
	cfg.Act.Redis.URL = secret.New(cfg.Redis.URL.Reveal())
	a, err := kinds.OpenActor(cfg, markerstest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func look(t testing.TB, store markers.Store, id string) dedup.Sighting {
	t.Helper()
	found, err := store.Look(t.Context(), []string{prefix + id})
	if err != nil || found[0] == nil {
		t.Fatalf("%s: %v, %v", id, found, err)
	}
	return *found[0]
}

func TestAHashPerMessageIsCountedByTheStateInItsField(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	at := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	claim(t, rdb, "1", at)
	claim(t, rdb, "2", at)
	write(t, rdb, "3", 24*time.Hour, "status", "done", "at", at.UnixMilli())
	write(t, rdb, "4", time.Minute, "status", "done", "at", at.UnixMilli()) // near its end
	write(t, rdb, "5", time.Minute, "status", "no such")
	write(t, rdb, "6", time.Minute, "at", at.UnixMilli())
	write(t, rdb, "7", time.Minute, "status", "processing", "at", "yesterday")
	rdb.Set(t.Context(), prefix+"8", "processing", time.Minute)
	write(t, rdb, "9", 0, "status", "processing", "at", at.UnixMilli())
	cfg := markerstest.Config(t, "redis-hash-status", server.URL())
	store := markerstest.OpenStore(t, cfg)
	pass := markerstest.MustPass(t, store)
	markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Processing: 4, dedup.Done: 2, dedup.StateUnknown: 3})
	if pass.NoExpiry[dedup.Processing] != 1 || pass.Completions.Total() != 2 || pass.ValuesRead != 9 {
		t.Errorf("without expiry %v, %d completions, %d values read", pass.NoExpiry, pass.Completions.Total(), pass.ValuesRead)
	}
	for _, m := range pass.OldestProcessing {
		switch m.ID {
		case "1", "2":
			if m.Owner != "worker-7" || !m.Since.Equal(at) || m.Status != "processing" {
				t.Errorf("%+v", m)
			}
		case "7":
			if m.Since.Equal(at) {
				t.Errorf("%+v", m)
			}
		}
	}
	if said := markerstest.Said(markerstest.Find(t, store, "1", "3", "5", "none", "8")); said != "processing done unknown - unknown" {
		t.Errorf("found %s", said)
	}
	page, err := store.Browse(t.Context(), dedup.MarkerQuery{State: dedup.Processing, Limit: 10})
	if err != nil || len(page.Markers) != 4 {
		t.Errorf("%d on the page, %v", len(page.Markers), err)
	}
	found, err := store.Lookup(t.Context(), "2")
	if err != nil || len(found) != 1 || found[0].Type != "hash" || found[0].Owner != "worker-7" {
		t.Errorf("%+v, %v", found, err)
	}
	report, err := store.Check(t.Context(), 20)
	if err != nil || len(report.Samples) != 9 || len(report.Missing) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestAHashThatIsWholeIsClearedAndRestoredAndNoOtherOne(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	cfg := markerstest.Config(t, "redis-hash-status", server.URL())
	store, actor := markerstest.OpenStore(t, cfg), actorOn(t, cfg)
	at := time.Now().Add(-time.Hour)
	clear := func(seen dedup.Sighting) dedup.Outcome { return actor.Clear(ctx, seen, false, markerstest.KeepNothing) }
	for name, tt := range map[string]struct {
		change func()
		want   dedup.Result
	}{
		"as it was seen":              {func() {}, dedup.Cleared},
		"completed meanwhile":         {func() { write(t, rdb, "1", 24*time.Hour, "status", "done") }, dedup.Changed},
		"another consumer":            {func() { rdb.HSet(ctx, prefix+"1", "consumer", "worker-8") }, dedup.Changed},
		"a field that no pass reads":  {func() { rdb.HSet(ctx, prefix+"1", "result", "42") }, dedup.Changed},
		"a field less":                {func() { rdb.HDel(ctx, prefix+"1", "payload") }, dedup.Changed},
		"taken again, with its life":  {func() { rdb.Del(ctx, prefix+"1"); claim(t, rdb, "1", at) }, dedup.Changed},
		"a string in its place":       {func() { rdb.Set(ctx, prefix+"1", "processing", time.Minute) }, dedup.Changed},
		"deleted by its own consumer": {func() { rdb.Del(ctx, prefix+"1") }, dedup.Gone},
	} {
		rdb.FlushAll(ctx)
		claim(t, rdb, "1", at)
		seen := look(t, store, "1")
		time.Sleep(2 * time.Millisecond) // another expiry
		tt.change()
		before := rdb.Exists(ctx, prefix+"1").Val()
		got := clear(seen)
		if left := rdb.Exists(ctx, prefix+"1").Val(); got.Result != tt.want || tt.want == dedup.Changed && left != before || tt.want == dedup.Cleared && left != 0 {
			t.Errorf("%s: %+v, %d keys left of %d", name, got, left, before)
		}
	}
	rdb.FlushAll(ctx)
	claim(t, rdb, "1", at)
	fields, seen := rdb.HGetAll(ctx, prefix+"1").Val(), look(t, store, "1")
	var image dedup.Sighting
	got := actor.Clear(ctx, seen, false, func(s dedup.Sighting) error { image = s; return nil })
	if got.Result != dedup.Cleared {
		t.Fatalf("%+v", got)
	}
	if got = actor.Restore(ctx, image); got.Result != dedup.Restored {
		t.Errorf("%+v", got)
	}
	again := look(t, store, "1")
	if len(fields) != 4 || !slices.Equal(again.Value, seen.Value) || again.ExpiresMillis != seen.ExpiresMillis {
		t.Errorf("restored %s until %d, was %s until %d", again.Value, again.ExpiresMillis, seen.Value, seen.ExpiresMillis)
	}
}

func TestAHashWithoutExpiryIsHeldAndThenCleared(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	cfg := markerstest.Config(t, "redis-hash-status", server.URL())
	store, actor := markerstest.OpenStore(t, cfg), actorOn(t, cfg)
	write(t, rdb, "1", 0, "status", "processing")
	write(t, rdb, "2", 0, "status", "processing")
	big := []any{"status", "processing", "payload", strings.Repeat("x", 2<<20)}
	write(t, rdb, "big", time.Minute, big...)
	if seen := look(t, store, "big"); seen.State != dedup.Processing || seen.Type != "" || seen.Value != nil {
		t.Errorf("a payload of 2 MiB can be compared: %s, %d bytes", seen.Type, len(seen.Value))
	}
	if got := actor.Expire(t.Context(), look(t, store, "2"), time.Minute); got.Result != dedup.ExpirySet {
		t.Errorf("%+v", got)
	}
	if got := actor.Clear(t.Context(), look(t, store, "1"), false, markerstest.KeepNothing); got.Result != dedup.Cleared {
		t.Errorf("%+v", got)
	}
}

func TestWhatAHashHasNoUseForIsRefused(t *testing.T) {
	for path, change := range map[string]func(*markers.Config){
		"":                 func(*markers.Config) {},
		"fields.status":    func(c *markers.Config) { c.Fields.Status = "" },
		"fields.time_unit": func(c *markers.Config) { c.Fields.TimeUnit = "days" },
		"value":            func(c *markers.Config) { c.Value.Path = "$.status" },
		"ask":              func(c *markers.Config) { c.Ask = "GET" },
		"events":           func(c *markers.Config) { c.Events = true },
		"states":           func(c *markers.Config) { c.States = nil },
		"redis.url":        func(c *markers.Config) { c.Redis = markers.Redis{} },
	} {
		cfg := markerstest.Config(t, "redis-hash-status", "redis://127.0.0.1/0")
		change(&cfg)
		if err := kinds.Validate(cfg); (err == nil) != (path == "") || err != nil && !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAnAccountWithTheDocumentedRightsReadsHashes(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	claim(t, rdb, "1", time.Now())
	acl := func(rules ...any) {
		if err := rdb.Do(t.Context(), append([]any{"acl", "setuser", "watcher"}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	acl("on", ">pw", "resetkeys", "-@all", "+ping", "+info", "+time", "+dbsize", "+scan", "+pexpiretime", "+hlen", "+hmget", "%R~"+prefix+"*", "%R~dedupstats:*")
	cfg := markerstest.Config(t, "redis-hash-status", strings.Replace(server.URL(), "redis://", "redis://watcher:pw@", 1))
	store := markerstest.OpenStore(t, cfg)
	report, err := store.Check(t.Context(), 5)
	if err != nil || !slices.Equal(report.Missing, []string{"+hscan"}) {
		t.Errorf("%+v, %v", report.Missing, err)
	}
	acl("+hscan")
	if report, err = store.Check(t.Context(), 5); err != nil || len(report.Missing) > 0 || len(report.Samples) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}
