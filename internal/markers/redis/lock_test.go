package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

func TestKeysThatAreNoLocksAreCountedAsUnknown(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	const holder, other = "8743c9c0-0795-4907-87fd-6c719a6b4586:57", "0743c9c0-0795-4907-87fd-6c719a6b4586:1"
	rdb.HSet(ctx, "lock:msg:held", holder, "2")
	rdb.HSet(ctx, "lock:msg:shared", "mode", "read", holder, "1", other, "1")
	rdb.HSet(ctx, "lock:msg:odd", "name", "value")
	rdb.HSet(ctx, "lock:msg:released", holder, "0")
	for i := range 2000 {
		rdb.HSet(ctx, "lock:msg:crowd", fmt.Sprint(strings.Repeat("f", 65), i), "1")
	}
	rdb.Set(ctx, "lock:msg:string", "token", time.Minute)
	rdb.SAdd(ctx, "lock:msg:set", "a")
	store := markerstest.OpenStore(t, markerstest.Config(t, "redisson-lock", server.URL()))
	pass := markerstest.MustPass(t, store)
	markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Processing: 2, dedup.StateUnknown: 5})
	if pass.NoExpiry[dedup.Processing] != 2 || len(pass.Permanent) != 2 {
		t.Errorf("without expiry: %v, %+v", pass.NoExpiry, pass.Permanent)
	}
	owners := map[string]string{}
	for _, m := range pass.OldestProcessing {
		owners[m.ID] = m.Owner + " " + m.Status
	}
	if d := cmp.Diff(map[string]string{"held": holder + " 2", "shared": other + ", " + holder + " 1"}, owners); d != "" {
		t.Errorf("owners (-want +got):\n%s", d)
	}
	found, err := store.(markers.Reader).Look(ctx, []string{"lock:msg:crowd", "lock:msg:string", "lock:msg:odd"})
	if err != nil || found[0].Type != "" || found[1].Type != "" || found[2].Type != "hash" || found[2].State != dedup.StateUnknown {
		t.Errorf("%+v, %v", found, err)
	}
	rdb.FlushDB(ctx)
	rdb.Set(ctx, "lock:order_pay:1", "tok\u202een", time.Minute)
	rdb.Set(ctx, "lock:order_pay:2", "", time.Minute)
	rdb.HSet(ctx, "lock:order_pay:3", holder, "1")
	pass = markerstest.MustPass(t, markerstest.OpenStore(t, markerstest.Config(t, "redis-token-lock", server.URL())))
	markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Processing: 1, dedup.StateUnknown: 2})
	if owner := pass.OldestProcessing[0].Owner; owner != `"tok\u202een"` {
		t.Errorf("owner %s", owner)
	}
}

func TestTheWatchTellsALockThatIsRenewedFromOneThatIsNot(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	const holder = "8743c9c0-0795-4907-87fd-6c719a6b4586:57"
	const lease = 10 * time.Minute
	for _, id := range []string{"renewed", "left"} {
		rdb.HSet(ctx, "lock:msg:"+id, holder, "1")
		rdb.PExpire(ctx, "lock:msg:"+id, lease)
	}
	cfg := markerstest.Config(t, "redisson-lock", server.URL())
	cfg.Sweep.Every, cfg.TTL.Processing = time.Second, lease
	store := markerstest.OpenStore(t, cfg)
	run(t, store)
	lock := func(s dedup.StoreStats, id string) dedup.Marker {
		for _, m := range s.Pass.OldestProcessing {
			if m.ID == id {
				return m
			}
		}
		t.Fatalf("no lock %s", id)
		return dedup.Marker{}
	}
	first := await(t, store, "a pass is complete", hasPass)
	rdb.PExpire(ctx, "lock:msg:renewed", lease)
	second := await(t, store, "the renewal is seen", func(s dedup.StoreStats, err error) bool {
		return hasPass(s, err) && lock(s, "renewed").Detail != ""
	})
	for _, id := range []string{"renewed", "left"} {
		if was, is := lock(first, id), lock(second, id); is.FirstSeen.IsZero() || !is.FirstSeen.Equal(was.FirstSeen) {
			t.Errorf("%s: first seen %s, then %s", id, was.FirstSeen, is.FirstSeen)
		}
	}
	if m := lock(second, "left"); m.Detail != "" || !m.Since.Equal(lock(first, "left").Since) {
		t.Errorf("the lock that nobody renews: %+v", m)
	}
	if m := lock(second, "renewed"); !m.Since.Equal(m.FirstSeen.Add(second.Pass.ClockOffset)) {
		t.Errorf("the renewed lock: %+v", m)
	}
	third := await(t, store, "a later pass is complete", func(s dedup.StoreStats, err error) bool {
		return hasPass(s, err) && s.Pass.Started.After(second.Pass.Started)
	})
	if m := lock(third, "renewed"); m.Detail == "" || !m.FirstSeen.Equal(lock(first, "renewed").FirstSeen) {
		t.Errorf("the renewed lock is forgotten: %+v", m)
	}
}

func TestAnAccountWithTheDocumentedRightsReadsLocks(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	rdb.HSet(ctx, "lock:msg:a", "8743c9c0-0795-4907-87fd-6c719a6b4586:57", "1")
	acl := func(rules ...any) {
		if err := rdb.Do(ctx, append([]any{"acl", "setuser", "watcher"}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	acl("on", ">pw", "resetkeys", "-@all", "+ping", "+info", "+time", "+dbsize", "+scan", "+pexpiretime", "+hlen", "+hmget", "%R~lock:msg:*", "%R~dedupstats:*")
	cfg := markerstest.Config(t, "redisson-lock", strings.Replace(server.URL(), "redis://", "redis://watcher:pw@", 1))
	store := markerstest.OpenStore(t, cfg)
	report, err := store.Check(ctx, 5)
	if err != nil || !slices.Equal(report.Missing, []string{"+hscan"}) || report.Blind == "" {
		t.Errorf("%+v, %v", report, err)
	}
	acl("+hscan")
	if report, err = store.Check(ctx, 5); err != nil || len(report.Missing) > 0 || len(report.Samples) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if found, err := store.(markers.Reader).Lookup(ctx, "a"); err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}
