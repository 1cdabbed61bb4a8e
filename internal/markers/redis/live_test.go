package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/lab/markerstest"
)

func openReader(t *testing.T, cfg markers.Config) markers.Reader {
	t.Helper()
	return markerstest.OpenStore(t, cfg).(markers.Reader)
}

func TestALookTakesKeysAsTheyAre(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	reader := openReader(t, markerstest.Config(t, "redis-text-status", server.URL()))
	whole := strings.Repeat("x", 1<<20)
	for key, value := range map[string]string{
		"msg:a": "processing", "msg:\x00\xff\u202e\n": "done", "msg:whole": whole, "msg:long": whole + "x", "msg:middling": strings.Repeat("y", 5000),
		"msg:empty": "", "retry:a": "2", "retry:alone": "7", "retry:text": "many", "msg:dedup:foreign": "processing", "msg:" + strings.Repeat("k", 5000): "done",
	} {
		rdb.Set(ctx, key, value, time.Hour)
	}
	rdb.HSet(ctx, "msg:hash", "f", "v")
	rdb.LPush(ctx, "msg:list", "a")
	rdb.LPush(ctx, "retry:hidden", "a")
	rdb.Set(ctx, "msg:hidden", "processing", 0)
	type seen struct {
		State    dedup.State
		Type     string
		Size     int
		Attempts int64 // -1 where not known
	}
	want := map[string]*seen{
		"msg:a": {dedup.Processing, "string", 10, 2}, "msg:\x00\xff\u202e\n": {dedup.Done, "string", 4, 0},
		"msg:whole": {dedup.StateUnknown, "string", 1 << 20, 0}, "msg:long": {dedup.StateUnknown, "", 0, 0}, "msg:middling": {dedup.StateUnknown, "string", 5000, 0},
		"msg:empty": {dedup.StateUnknown, "string", 0, 0}, "msg:hash": {dedup.StateUnknown, "", 0, 0}, "msg:list": {dedup.StateUnknown, "", 0, 0},
		"msg:hidden": {dedup.Processing, "string", 10, -1}, "retry:alone": {dedup.Failed, "string", 1, 7}, "retry:text": {dedup.StateUnknown, "string", 4, -1},
		"msg:" + strings.Repeat("k", 5000): {dedup.Done, "string", 4, 0},
		"msg:dedup:foreign":                nil, "msg:gone": nil, "session:1": nil,
	}
	var keys []string
	for key := range want {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	found, err := reader.Look(ctx, keys)
	if err != nil || len(found) != len(keys) {
		t.Fatalf("%d of %d, %v", len(found), len(keys), err)
	}
	for i, key := range keys {
		var got *seen
		if s := found[i]; s != nil {
			got = &seen{s.State, s.Type, len(s.Value), -1}
			if s.Attempts != nil {
				got.Attempts = *s.Attempts
			}
			if s.Key != key || s.Store != "shop" || s.State == dedup.StateUnknown && s.Detail == "" {
				t.Errorf("%.20q: %+v", key, s.Marker)
			}
		}
		if d := cmp.Diff(want[key], got); d != "" {
			t.Errorf("%.20q (-want +got):\n%s", key, d)
		}
	}
	if _, err := reader.Look(ctx, make([]string, 1001)); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("1001 keys: %v", err)
	}
	for term, n := range map[string]int{"a": 1, "alone": 1, "nobody": 0, "": 0, "dedup:foreign": 0, strings.Repeat("t", 5000): 0} {
		if found, err := reader.Lookup(ctx, term); err != nil || len(found) != n {
			t.Errorf("lookup of %.20q: %+v, %v", term, found, err)
		}
	}
}

func TestALookTakesOfManyLargeValuesOnlySoMuch(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	keys := make([]string, 70)
	for i := range keys {
		keys[i] = fmt.Sprint("msg:", i)
		rdb.Set(t.Context(), keys[i], strings.Repeat("x", 1<<20), 0)
	}
	reader := openReader(t, markerstest.Config(t, "redis-text-status", server.URL()))
	var told *dedup.Error
	if _, err := reader.Look(t.Context(), keys); !errors.As(err, &told) || told.Kind != dedup.Invalid || !strings.Contains(told.Public, "fewer") {
		t.Errorf("70 MiB: %v", err)
	}
	if found, err := reader.Look(t.Context(), keys[:20]); err != nil || len(found[19].Value) != 1<<20 {
		t.Errorf("20 MiB: %v", err)
	}
}

func TestALookOnAnOldServerFallsBackToTheRemainingLife(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, "--rename-command", "PEXPIRETIME", "")
	ctx := t.Context()
	rdb.Set(ctx, "msg:a", "processing", 300*time.Second)
	rdb.Set(ctx, "msg:b", "processing", 0)
	rdb.Set(ctx, "retry:a", "1", 24*time.Hour)
	reader := openReader(t, markerstest.Config(t, "redis-text-status", server.URL()))
	found, err := reader.Look(ctx, []string{"msg:a", "msg:b", "msg:c"})
	if err != nil || found[0] == nil || found[1] == nil || found[2] != nil {
		t.Fatalf("%v, %v", found, err)
	}
	if left := found[0].Expires.Sub(found[0].Clock); left > 300*time.Second || left < 200*time.Second || found[0].Retry == nil || *found[0].Attempts != 1 {
		t.Errorf("%s left of %+v", left, found[0])
	}
	if found[1].ExpiresMillis != dedup.NoExpiry {
		t.Errorf("%+v", found[1])
	}
	page, err := reader.Browse(ctx, dedup.MarkerQuery{Limit: 10})
	if err != nil || len(page.Markers) != 2 {
		t.Errorf("%+v, %v", page, err)
	}
}

// browseAll turns the pages to the end and returns the ids in their order.
func browseAll(t *testing.T, reader markers.Reader, q dedup.MarkerQuery, turned func()) []string {
	t.Helper()
	var ids []string
	for range 10_000 {
		page, err := reader.Browse(t.Context(), q)
		if err != nil || len(page.Markers) > q.Limit {
			t.Fatalf("a page of %d, %v", len(page.Markers), err)
		}
		for _, m := range page.Markers {
			ids = append(ids, m.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids
		}
		if turned != nil {
			turned()
		}
	}
	t.Fatal("the pages do not end")
	return nil
}

func TestBrowsingShowsEachMarkerOnce(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Done: 3000, Processing: 70, NoExpiry: 30, GaveUp: 20, Foreign: 2000})
	reader := openReader(t, markerstest.Config(t, "redis-text-status", server.URL()))
	for name, c := range map[string]struct {
		query dedup.MarkerQuery
		want  int
	}{
		"all, by large pages":        {dedup.MarkerQuery{Limit: 200}, 3100},
		"all, by small pages":        {dedup.MarkerQuery{Limit: 7}, 3100},
		"those that are processing":  {dedup.MarkerQuery{State: dedup.Processing, Limit: 9}, 100},
		"those that are done":        {dedup.MarkerQuery{State: dedup.Done, Limit: 200}, 3000},
		"none that failed":           {dedup.MarkerQuery{State: dedup.Failed, Limit: 1}, 0},
		"a part of the id":           {dedup.MarkerQuery{Match: "stuck-1", Limit: 4}, 11},
		"a part that is a pattern":   {dedup.MarkerQuery{Match: "*", Limit: 4}, 0},
		"a part of an id, one state": {dedup.MarkerQuery{Match: "-2", State: dedup.Processing, Limit: 1}, 22},
	} {
		t.Run(name, func(t *testing.T) {
			ids := browseAll(t, reader, c.query, nil)
			all := len(ids)
			slices.Sort(ids)
			if ids = slices.Compact(ids); len(ids) != c.want || all != c.want {
				t.Errorf("%d markers, %d of them different; want %d", all, len(ids), c.want)
			}
		})
	}
}

func TestBrowsingMissesNoMarkerWhileOthersComeAndGo(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Processing: 2000})
	reader := openReader(t, markerstest.Config(t, "redis-text-status", server.URL()))
	n := 0
	ids := browseAll(t, reader, dedup.MarkerQuery{Limit: 50}, func() {
		pipe := rdb.Pipeline()
		for i := range 300 {
			pipe.Set(t.Context(), fmt.Sprintf("msg:new-%d-%d", n, i), "processing", time.Hour)
			pipe.Del(t.Context(), fmt.Sprintf("msg:new-%d-%d", n-3, i))
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		n++
	})
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	for i := range 2000 {
		if !seen[fmt.Sprint("busy-", i)] {
			t.Fatalf("busy-%d was there all the time and was not shown", i)
		}
	}
}

func TestAPageOfASparseStoreEndsEarly(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillMarkers(t, rdb, markerstest.Mix{Processing: 3, Foreign: 50_000})
	reader := openReader(t, markerstest.Config(t, "redis-text-status", server.URL()))
	page, err := reader.Browse(t.Context(), dedup.MarkerQuery{Limit: 200})
	if err != nil || page.Next == "" || page.Examined < 500 || page.Examined > 20_500 || len(page.Markers) > 3 {
		t.Errorf("%+v, %v", page, err)
	}
	if ids := browseAll(t, reader, dedup.MarkerQuery{Limit: 200}, nil); len(ids) != 3 {
		t.Errorf("%q", ids)
	}
	for _, q := range []dedup.MarkerQuery{{}, {Limit: 201}, {Limit: -1}, {Limit: 1, Cursor: "0"}, {Limit: 1, Cursor: "x"}, {Limit: 1, Cursor: "5-"}, {Limit: 1, Cursor: "5-7"}, {Limit: 1, Cursor: "5-7-0"}, {Limit: 1, Cursor: "-1-1-1"}, {Limit: 1, Cursor: strings.Repeat("9", 40)}} {
		if _, err := reader.Browse(t.Context(), q); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestMarkersOfOneStateAreNotReadByAPassOrAPage(t *testing.T) {
	t.Parallel()
	for preset, key := range map[string]string{"redis-flag": "msg:processed:", "redis-timestamp": "dedup:", "redis-presence": "order:"} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			server, rdb := markerstest.StartRedis(t)
			ctx, ttl := t.Context(), 24*time.Hour
			cfg := markerstest.Config(t, preset, server.URL())
			if preset == "redis-presence" {
				cfg.Match, ttl = "order:*", 0
			}
			for i := range 300 {
				rdb.Set(ctx, fmt.Sprint(key, i), "some value", ttl)
			}
			idle := func(i int) time.Duration { return rdb.ObjectIdleTime(ctx, fmt.Sprint(key, i)).Val() }
			markerstest.WaitUntil(t, "all markers have been idle for 2 s", func() bool { return idle(299) >= 2*time.Second })
			store := markerstest.OpenStore(t, cfg)
			pass := markerstest.MustPass(t, store)
			if ids := browseAll(t, store.(markers.Reader), dedup.MarkerQuery{Limit: 100}, nil); pass.Matched != 300 || pass.ValuesRead != 0 || len(ids) != 300 {
				t.Errorf("%d matched, %d values read, %d shown", pass.Matched, pass.ValuesRead, len(ids))
			}
			for i := range 300 {
				if idle(i) < 2*time.Second {
					t.Fatalf("marker %d was touched", i)
				}
			}
		})
	}
}

func TestALookupThatCannotBuildKeysSaysSo(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	rdb.Set(t.Context(), "shop:7:order-1:eu", "processing", 0)
	cfg := markerstest.Config(t, "redis-text-status", server.URL())
	cfg.Match, cfg.ID = "shop:*", `^shop:\d+:([^:]+):eu$`
	if _, err := openReader(t, cfg).Lookup(t.Context(), "order-1"); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("%v", err)
	}
	cfg.Match, cfg.ID = "shop:7:*:eu", `^shop:7:([^:]+):eu$`
	if found, err := openReader(t, cfg).Lookup(t.Context(), "order-1"); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
}

func TestAStoppedServerIsExplainedToWhoLooks(t *testing.T) {
	t.Parallel()
	server, _ := markerstest.StartRedis(t)
	reader := openReader(t, markerstest.Config(t, "redis-text-status", server.URL()))
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := reader.Look(t.Context(), []string{"msg:a"})
	wantFault(t, err, "refused the connection")
	_, err = reader.Browse(t.Context(), dedup.MarkerQuery{Limit: 1})
	wantFault(t, err, "refused the connection")
}

func TestAMarkerThatWasTakenAgainIsSeenForTheFirstTime(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	rdb.Set(ctx, "msg:same", "processing", 300*time.Second)
	rdb.Set(ctx, "msg:again", "processing", 300*time.Second)
	rdb.Set(ctx, "msg:stuck", "processing", 0)
	rdb.Set(ctx, "retry:same", "2", 24*time.Hour)
	cfg := markerstest.Config(t, "redis-text-status", server.URL())
	cfg.Sweep.Every = time.Second
	store := markerstest.OpenStore(t, cfg)
	run(t, store)
	first := await(t, store, "a pass is complete", hasPass)
	rdb.Del(ctx, "msg:again")
	rdb.Set(ctx, "msg:again", "processing", 300*time.Second)
	second := await(t, store, "the next pass is complete", func(s dedup.StoreStats, err error) bool {
		return hasPass(s, err) && s.Pass.Started.After(first.Pass.Ended)
	})
	was := map[string]dedup.Marker{}
	for _, m := range first.Pass.OldestProcessing {
		was[m.ID] = m
	}
	for _, m := range second.Pass.OldestProcessing {
		if same := m.FirstSeen.Equal(was[m.ID].FirstSeen); same != (m.ID != "again") {
			t.Errorf("%s: first seen %s, before %s", m.ID, m.FirstSeen, was[m.ID].FirstSeen)
		}
		if n := map[string]int64{"same": 2}[m.ID]; m.Attempts == nil || *m.Attempts != n || m.Status != "processing" {
			t.Errorf("%+v", m)
		}
	}
	if len(second.Pass.Permanent) != 1 || !second.Pass.Permanent[0].FirstSeen.Equal(was["stuck"].FirstSeen) {
		t.Errorf("permanent: %+v", second.Pass.Permanent)
	}
}

func TestAStoreLeavesWhatAMoreSpecificOneTakes(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	wide := markerstest.Config(t, "redis-presence", server.URL())
	wide.Name, wide.Match = "wide", "*"
	text := markerstest.Config(t, "redis-text-status", server.URL())
	java := markerstest.Config(t, "redis-timestamp", server.URL())
	java.Name, java.Key.Codec, java.Value.Codec = "java", "java", "java"
	rdb.MSet(ctx, "msg:1", "processing", "retry:1", "5", "msg:dedup:2", "processing", "other", "x",
		javaString("dedup:abc"), javaLong(time.Now().UnixMilli()), "\xac\xed\x00\x05t\x00\x08dedup:abc", "x")
	settled, open := kinds.Resolve([]markers.Config{wide, text, java})
	if len(open) != 0 {
		t.Fatal(open)
	}
	var got [][]string
	for _, cfg := range settled {
		ids := browseAll(t, openReader(t, cfg), dedup.MarkerQuery{Limit: 50}, nil)
		slices.Sort(ids)
		got = append(got, ids)
	}
	// The key of a wrong length looks like one of Java's to a pattern, and is nobody's.
	if d := cmp.Diff([][]string{{"msg:dedup:2", "other"}, {"1"}, {"abc"}}, got); d != "" {
		t.Errorf("ids (-want +got):\n%s", d)
	}
}
