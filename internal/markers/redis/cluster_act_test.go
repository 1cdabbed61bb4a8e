package redis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/lab/markerstest"
)

// see looks at a marker of the cluster as a store sees it.
func (c *clusterBench) see(t *testing.T, store markers.Store, key string) dedup.Sighting {
	t.Helper()
	found, err := store.Look(t.Context(), []string{key})
	if err != nil || found[0] == nil {
		t.Fatal(key, found, err)
	}
	return *found[0]
}

// actor opens a store of the cluster and an actor.
func (c *clusterBench) actor(t *testing.T) (markers.Store, markers.Actor) {
	cfg := c.config(t, "redis-text-status")
	return markerstest.OpenStore(t, cfg), actorOf(t, cfg, "redis://nowhere.invalid/0")
}

func testClusterClears(t *testing.T, c *clusterBench) {
	store, a := c.actor(t)
	ctx := t.Context()
	for name, c2 := range map[string]struct{ id string }{"the counter in another slot": {"m-1"}, "the counter in the slot of its marker": {"{m-2}"}} {
		t.Run(name, func(t *testing.T) {
			marker, counter := "msg:"+c2.id, "retry:"+c2.id
			if apart := client.Slot(marker) != client.Slot(counter); apart != (c2.id == "m-1") {
				t.Fatal("the keys are not where they should be")
			}
			c.rdb.Set(ctx, marker, "processing", time.Minute)
			c.rdb.Set(ctx, counter, 4, time.Hour)
			seen := c.see(t, store, marker)
			var image dedup.Sighting
			got := a.Clear(ctx, seen, true, func(s dedup.Sighting) error { image = s; return nil })
			if want(t, got, dedup.Cleared, ""); got.Text != "" || c.rdb.Exists(ctx, marker).Val()+c.rdb.Exists(ctx, counter).Val() != 0 || image.Retry == nil {
				t.Errorf("%+v; image %+v", got, image)
			}
			want(t, a.Clear(ctx, seen, true, markerstest.KeepNothing), dedup.Gone, "")
			got = a.Restore(ctx, image)
			if want(t, got, dedup.Restored, ""); got.Text != "" || c.rdb.Get(ctx, marker).Val() != "processing" || c.rdb.Get(ctx, counter).Val() != "4" {
				t.Errorf("%+v", got)
			}
			if again := c.see(t, store, marker); again.ExpiresMillis != seen.ExpiresMillis || again.Retry.ExpiresMillis != seen.Retry.ExpiresMillis {
				t.Errorf("%+v, then %+v", seen, again)
			}
			want(t, a.Restore(ctx, image), dedup.Refused, "there is a marker again")
			c.rdb.Del(ctx, marker)
			c.rdb.Set(ctx, counter, 1, time.Hour)
			got = a.Restore(ctx, image)
			if want(t, got, dedup.Restored, "its retry counter is there again"); c.rdb.Get(ctx, counter).Val() != "1" {
				t.Error("a counter was overwritten")
			}
		})
	}
	c.rdb.Set(ctx, "retry:alone", 7, time.Hour)
	want(t, a.Clear(ctx, c.see(t, store, "retry:alone"), false, markerstest.KeepNothing), dedup.Cleared, "")
	c.rdb.Set(ctx, "msg:stuck", "processing", 0)
	want(t, a.Expire(ctx, c.see(t, store, "msg:stuck"), time.Hour), dedup.ExpirySet, "")
}

func testClusterSpares(t *testing.T, c *clusterBench) {
	store, a := c.actor(t)
	ctx := t.Context()
	put := func(id string) dedup.Sighting {
		c.rdb.Set(ctx, "msg:"+id, "processing", time.Minute)
		c.rdb.Set(ctx, "retry:"+id, 4, time.Hour)
		return c.see(t, store, "msg:"+id)
	}
	t.Run("a marker that was taken again keeps its counter", func(t *testing.T) {
		seen := put("again")
		c.rdb.Set(ctx, "msg:again", "processing", 2*time.Minute)
		if want(t, a.Clear(ctx, seen, true, markerstest.KeepNothing), dedup.Changed, "now taken again"); c.rdb.Exists(ctx, "msg:again").Val()+c.rdb.Exists(ctx, "retry:again").Val() != 2 {
			t.Error("something was deleted")
		}
	})
	t.Run("one that is touched at the last moment keeps its counter", func(t *testing.T) {
		seen := put("late")
		got := a.Clear(ctx, seen, true, func(dedup.Sighting) error { return c.rdb.Set(ctx, "msg:late", "processing", 2*time.Minute).Err() })
		if want(t, got, dedup.Changed, "now taken again"); c.rdb.Exists(ctx, "msg:late").Val()+c.rdb.Exists(ctx, "retry:late").Val() != 2 {
			t.Error("something was deleted")
		}
	})
	t.Run("a counter that counted on keeps its marker", func(t *testing.T) {
		seen := put("counting")
		c.rdb.Incr(ctx, "retry:counting")
		if want(t, a.Clear(ctx, seen, true, markerstest.KeepNothing), dedup.Changed, "its retry counter is now 5"); c.rdb.Exists(ctx, "msg:counting").Val() != 1 {
			t.Error("the marker was deleted")
		}
	})
	t.Run("a counter that counts on at the last moment stays, and that is told", func(t *testing.T) {
		seen := put("counted")
		got := a.Clear(ctx, seen, true, func(dedup.Sighting) error { return c.rdb.Incr(ctx, "retry:counted").Err() })
		if want(t, got, dedup.Cleared, "but not its retry counter: it is now 5"); !got.CounterLeft() || c.rdb.Get(ctx, "retry:counted").Val() != "5" || c.rdb.Exists(ctx, "msg:counted").Val() != 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("another node's name refuses", func(t *testing.T) {
		seen := put("elsewhere")
		seen.Server = strings.Repeat("0", 40)
		want(t, a.Clear(ctx, seen, true, markerstest.KeepNothing), dedup.Refused, "another server answers since")
	})
}

func testClearInOpenSlot(t *testing.T, c *clusterBench) {
	store, a := c.actor(t)
	ctx := t.Context()
	c.rdb.Set(ctx, "msg:{clear}-1", "processing", time.Minute)
	seen := c.see(t, store, "msg:{clear}-1")
	slot := c.open(t, "clear")
	slot.move(t, 0)
	want(t, a.Clear(ctx, seen, false, markerstest.KeepNothing), dedup.NotDone, "try again")
	slot.end(t)
	// What it knows of the slot may be of before.
	if got := a.Clear(ctx, seen, false, markerstest.KeepNothing); got.Result != dedup.NotDone && got.Result != dedup.Refused {
		t.Errorf("%+v", got)
	}
	want(t, a.Clear(ctx, seen, false, markerstest.KeepNothing), dedup.Refused, "another server answers since")
	want(t, a.Clear(ctx, c.see(t, store, "msg:{clear}-1"), false, markerstest.KeepNothing), dedup.Cleared, "")
	// It moves at the last moment.
	c.rdb.Set(ctx, "msg:{clear}-2", "processing", time.Minute)
	seen = c.see(t, store, "msg:{clear}-2")
	got := a.Clear(ctx, seen, false, func(dedup.Sighting) error {
		c.open(t, "clear").end(t)
		return nil
	})
	if got.Result != dedup.NotDone && got.Result != dedup.Gone || c.rdb.Exists(ctx, "msg:{clear}-2").Val() != 1 {
		t.Errorf("%+v; there: %v", got, c.rdb.Exists(ctx, "msg:{clear}-2").Val())
	}
}

func testClusterActRights(t *testing.T, c *clusterBench) {
	line, ofCluster := actingRules(t, "Redis 7.0"), actingRules(t, "On a Redis Cluster, on each node:")
	cfg := c.config(t, "redis-text-status")
	store := markerstest.OpenStore(t, cfg)
	for _, without := range append([]string{""}, ofCluster...) {
		for i := range c.Nodes {
			args := []any{"acl", "setuser", "dashboard-act", "reset"}
			for _, r := range slices.Concat(line, ofCluster) {
				if r != without {
					args = append(args, r)
				}
			}
			do(t, c.node(t, i), args...)
		}
		a := actorOf(t, cfg, "redis://dashboard-act:PASSWORD@nowhere.invalid/0")
		c.rdb.Set(t.Context(), "msg:1", "processing", time.Minute)
		c.rdb.Set(t.Context(), "retry:1", 4, time.Minute)
		got := a.Clear(t.Context(), c.see(t, store, "msg:1"), true, markerstest.KeepNothing)
		if without == "" && (got.Result != dedup.Cleared || got.Text != "") || without != "" && (got.Result != dedup.Refused || !strings.Contains(got.Text, without)) {
			t.Errorf("without %q: %+v", without, got)
		}
	}
}
