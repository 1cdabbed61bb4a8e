package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

func TestFindAnswersInTheOrderOfTheIDs(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx, scheme := t.Context(), markerstest.TextStatus()
	for _, id := range []string{"busy", "done", "busy and failed"} {
		if _, err := scheme.Claim(ctx, rdb, id); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		scheme.Complete(ctx, rdb, "done", time.Now()), scheme.Fail(ctx, rdb, "failed", 4), rdb.Set(ctx, "retry:busy and failed", "2", time.Hour).Err(),
		rdb.Set(ctx, "msg:endless", "processing", 0).Err(), rdb.Set(ctx, "retry:letters", "many", 0).Err(), rdb.RPush(ctx, "msg:list", "a").Err(),
		rdb.RPush(ctx, "retry:list of failures", "a").Err(), rdb.Set(ctx, "msg:odd", "<b>", 0).Err(), rdb.Set(ctx, "msg:dedup:other", "processing", 0).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	ids := []string{"done", "none", "busy", "done", "", "failed", "busy and failed", "endless", "letters", "list", "list of failures", "odd", "dedup:other", "none"}
	found := markerstest.Find(t, store, ids...)
	if got, want := markerstest.Said(found), "done - processing done - failed4c processing2 processing unknown unknown unknown unknown - -"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if left := time.UnixMilli(found[2].ExpiresMillis).Sub(found[2].Clock); left > 300*time.Second || left < 200*time.Second || !found[2].Expires.Equal(time.UnixMilli(found[2].ExpiresMillis)) {
		t.Errorf("busy has %s left: %+v", left, found[2])
	}
	if found[7].ExpiresMillis != dedup.NoExpiry || found[5].Retry.ExpiresMillis <= 0 || found[5].Key != "retry:failed" || found[6].Retry.Key != "retry:busy and failed" || found[6].Key != "msg:busy and failed" {
		t.Errorf("%+v %+v %+v", found[7], found[5], found[6].Retry)
	}
}

// RabbitMQ hands a UUID of AMQP 1.0 to us as a URN, and to consumers of AMQP 1.0 as what it is.
func TestFindKnowsAUUIDInBothSpellings(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx, scheme := t.Context(), markerstest.TextStatus()
	uuid := func(n int) string { return fmt.Sprintf("6f9619ff-8b86-d011-b42d-00c04fc964%02x", n) }
	for _, id := range []string{uuid(1), "urn:uuid:" + uuid(2), uuid(3), "urn:uuid:" + uuid(3)} {
		if _, err := scheme.Claim(ctx, rdb, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := scheme.Fail(ctx, rdb, uuid(4), 4); err != nil {
		t.Fatal(err)
	}
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	var ids []string
	for n := range 5 {
		ids = append(ids, "urn:uuid:"+uuid(n))
	}
	found := markerstest.Find(t, store, ids...)
	if got, want := markerstest.Said(found), "- processing processing unknown failed4c"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if found[1].Key != "msg:"+uuid(1) || found[2].Key != "msg:urn:uuid:"+uuid(2) || found[3].Key != "" {
		t.Errorf("%+v %+v %+v", found[1], found[2], found[3])
	}
}

// Find and Lookup are two ways to one marker.
func TestFindSaysWhatLookupSays(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 300, Processing: 100, NoExpiry: 50, GaveUp: 50, Retrying: 50})
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	var ids []string
	for i := range 120 {
		for _, prefix := range []string{"done-", "busy-", "stuck-", "lost-", "again-", "missing-"} {
			ids = append(ids, fmt.Sprint(prefix, i))
		}
	}
	n := 0
	for i, s := range markerstest.Find(t, store, ids...) {
		looked, err := store.Lookup(t.Context(), ids[i])
		if err != nil || len(looked) > 1 || (len(looked) == 1) != (s != nil) {
			t.Fatalf("%s: %+v, looked up %+v, %v", ids[i], s, looked, err)
		}
		if s == nil {
			continue
		}
		n++
		if l := looked[0]; s.Key != l.Key || s.ID != l.ID || s.State != l.State || s.ExpiresMillis != l.ExpiresMillis || !s.Since.Equal(l.Since) || s.Server != l.Server {
			t.Errorf("%s: found %+v, looked up %+v", ids[i], s, l)
		}
	}
	if n != 120+100+50+50+50 {
		t.Errorf("%d found", n)
	}
}

func TestFindBearsHostileIDs(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ids := []string{"*", "[a-z]", "a\x00b", "a\r\nDEL x\r\n", "\xff\xfe", strings.Repeat("é", 1000), strings.Repeat("x", 4096), "<script>", "'; DROP TABLE x; --", " ", "a:b:c"}
	for _, id := range ids {
		if err := rdb.Set(t.Context(), "msg:"+id, "processing", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	for i, s := range markerstest.Find(t, store, ids...) {
		if s == nil || s.State != dedup.Processing || s.CounterAlone() || (s.Key == "") != (len(ids[i]) > 4000) {
			t.Errorf("%.40q: %+v", ids[i], s)
		}
	}
	found := markerstest.Find(t, store, "**", "a", "[a]", strings.Repeat("x", 4095), strings.Repeat("x", 1<<20))
	if markerstest.Said(found) != "- - - - unknown" || found[4].Key != "" || found[4].ID != "" || !strings.Contains(found[4].Detail, "1048576 bytes") {
		t.Errorf("found %s: %+v", markerstest.Said(found), found[4])
	}
	if _, err := store.Find(t.Context(), make([]string, 10_001)); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("10,001 ids: %v", err)
	}
}

func TestFindReadsEveryShapeOfRedis(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	for _, err := range []error{
		rdb.Set(ctx, "msg:dedup:a", "processing", time.Minute).Err(), rdb.Set(ctx, "msg:dedup:b", markerstest.JSONDone("x", time.Now()), time.Hour).Err(),
		rdb.Set(ctx, "dedup:a", "1734400000123", time.Hour).Err(), rdb.Set(ctx, "msg:processed:a", "1", time.Hour).Err(),
		rdb.HSet(ctx, "lock:msg:a", "0a1b2c3d-0000-0000-0000-000000000001:7", "1").Err(), rdb.Set(ctx, "lock:order_pay:a", "token", time.Minute).Err(),
		rdb.Set(ctx, "order:a", "x", 0).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for preset, want := range map[string]string{
		"redis-json-status": "processing done -", "redis-timestamp": "present - -", "redis-flag": "done - -", "redisson-lock": "processing - -", "redis-token-lock": "processing - -", "redis-presence": "present - -",
	} {
		cfg := markerstest.Config(t, preset, server.URL())
		if preset == "redis-presence" {
			cfg.Match, cfg.ID = "order:*", "^order:(.+)$"
		}
		if got := markerstest.Said(markerstest.Find(t, markerstest.OpenStore(t, cfg), "a", "b", "c")); got != want {
			t.Errorf("%s: got %s, want %s", preset, got, want)
		}
	}
	cfg := markerstest.Config(t, "redis-text-status", server.URL())
	cfg.Match, cfg.ID, cfg.Retry = "*:m:*", "^.*:m:(.+)$", markers.Retry{}
	if _, err := markerstest.OpenStore(t, cfg).Find(ctx, []string{"a"}); dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), "cannot be searched") {
		t.Errorf("keys that do not follow from the id: %v", err)
	}
}

func TestFindOnAServerThatTellsOnlyTheRemainingLife(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, "--rename-command", "PEXPIRETIME", "")
	ctx := t.Context()
	if err := rdb.Set(ctx, "msg:a", "processing", 5*time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Set(ctx, "retry:b", "4", 5*time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	found := markerstest.Find(t, markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL())), "a", "b", "c")
	if markerstest.Said(found) != "processing failed4c -" {
		t.Fatal(markerstest.Said(found))
	}
	for _, s := range found[:2] {
		if left := time.UnixMilli(s.ExpiresMillis).Sub(s.Clock); left > 301*time.Second || left < 200*time.Second {
			t.Errorf("%s left", left)
		}
	}
}

// What is left of a life tells the state only as long as consumers keep to the configured times.
func TestFindDoesNotTakeALongLifeForDone(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	if err := rdb.Set(t.Context(), "msg:a", "processing", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if got := markerstest.Said(markerstest.Find(t, markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL())), "a")); got != "processing" {
		t.Errorf("a claim of an hour is %s", got)
	}
}

func TestFindSaysWhyAStoreDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	if err := rdb.Do(t.Context(), "acl", "setuser", "default", "-getrange").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Find(t.Context(), []string{"a"}); dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), "getrange") {
		t.Errorf("without the right: %v", err)
	}
	server.Kill()
	if _, err := store.Find(t.Context(), []string{"a"}); dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), "refused") {
		t.Errorf("without a server: %v", err)
	}
}

// A preflight must not hold up the consumers: no more is asked for at once than a moment's work, and nothing is walked over.
func TestFindAsksInSmallPipelines(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 2000})
	var ids []string
	for i := range 3000 {
		ids = append(ids, fmt.Sprint("done-", i))
	}
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	before := commands(t, rdb)
	markerstest.Find(t, store, ids...)
	after := commands(t, rdb)
	for _, c := range []string{"getrange", "pexpiretime"} {
		if n := after[c] - before[c]; n < 3000 || n > 6000 {
			t.Errorf("%d × %s for 3,000 ids", n, c)
		}
	}
	if n := after["time"] - before["time"]; n != 12 {
		t.Errorf("%d pipelines for 3,000 ids, want 12 of 250", n)
	}
	for _, never := range []string{"keys", "scan", "get", "mget", "eval"} {
		if after[never] != before[never] {
			t.Errorf("%s was used", never)
		}
	}
}

// commands counts the calls of each command that the server has seen.
func commands(t *testing.T, rdb *redis.Client) map[string]int {
	t.Helper()
	text, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for line := range strings.Lines(text) {
		var n int
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if _, err := fmt.Sscanf(rest, "%d", &n); ok && err == nil {
			calls[name] = n
		}
	}
	if len(calls) == 0 {
		t.Fatalf("no statistics in %s", text)
	}
	return calls
}
