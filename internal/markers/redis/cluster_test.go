package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// A clusterBench is a private Redis Cluster with a client that knows where everything is.
type clusterBench struct {
	*servers.RedisCluster
	rdb *redis.ClusterClient
}

func newClusterBench(t testing.TB) *clusterBench {
	t.Helper()
	c := serverstest.RedisCluster(t)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addresses()})
	t.Cleanup(func() { _ = rdb.Close() })
	return &clusterBench{c, rdb}
}

// config describes the store of the cluster, whose URL leads nowhere. It names two of the six nodes.
func (c *clusterBench) config(t testing.TB, preset string) markers.Config {
	cfg := markerstest.Config(t, preset, "redis://nowhere.invalid/0")
	cfg.Redis.Cluster = []string{c.Nodes[5].Addr(), c.Nodes[1].Addr()}
	return cfg.WithDefaults()
}

// flush empties all primaries.
func (c *clusterBench) flush(t testing.TB) {
	t.Helper()
	if err := c.rdb.ForEachMaster(t.Context(), func(ctx context.Context, n *redis.Client) error { return n.FlushAll(ctx).Err() }); err != nil {
		t.Fatal(err)
	}
}

// node returns a client of one node.
func (c *clusterBench) node(t testing.TB, i int) *redis.Client {
	t.Helper()
	return markerstest.Client(t, c.Nodes[i].URL())
}

// owner returns which of the nodes holds the slot of a key, as this node itself says.
func (c *clusterBench) owner(t testing.TB, key string) int {
	t.Helper()
	for i := range c.Nodes {
		if err := c.node(t, i).Do(t.Context(), "set", "probe:{"+key+"}", "", "px", 1).Err(); err == nil {
			return i
		}
	}
	t.Fatal("nobody holds", key)
	return 0
}

func TestAStoreOnARedisCluster(t *testing.T) {
	c := newClusterBench(t)
	for _, scheme := range []markerstest.Scheme{markerstest.TextStatus(), markerstest.JSONStatus()} {
		t.Run(scheme.Preset+" conforms", func(t *testing.T) {
			c.flush(t)
			markerstest.Conform(t, markerstest.Unthrottled(c.config(t, scheme.Preset)), c.rdb, scheme)
		})
	}
	for name, test := range map[string]func(*testing.T, *clusterBench){
		"says how it is":                                      testClusterHealth,
		"finds single markers where they are":                 testClusterLooks,
		"shows each marker once, page by page":                testClusterPages,
		"reads the counters of consumers":                     testClusterReported,
		"is checked, node by node":                            testClusterCheck,
		"is checked in part where it is large":                testClusterCheckInPart,
		"skips no marker on its pages while others come":      testClusterPagesInMotion,
		"clears and restores":                                 testClusterClears,
		"clears nothing that was taken again":                 testClusterSpares,
		"counts a key once while its slot moves":              testOpenSlot,
		"finds a key while its slot moves":                    testLookInOpenSlot,
		"begins a pass again when a slot moved":               testMovedSlot,
		"clears nothing in a slot that moves":                 testClearInOpenSlot,
		"changes markers with the rights that are documented": testClusterActRights,
		"needs the rights that are documented, and no other":  testClusterRights,
	} {
		t.Run(name, func(t *testing.T) {
			c.flush(t)
			test(t, c)
		})
	}
}

func testClusterHealth(t *testing.T, c *clusterBench) {
	fill(t, c.rdb, markerstest.Mix{Done: 300})
	store := markerstest.OpenStore(t, c.config(t, "redis-text-status"))
	stats, err := store.Stats(t.Context())
	if h := stats.Health; err != nil || *h.Keys != 300 || h.MemoryMax != nil || h.MemoryUsed == nil || h.Role != "master" || h.LatencyP99 <= 0 || len(h.Nodes) != 3 {
		t.Errorf("%+v, %v", h, err)
	}
	for i, limit := range []string{"100mb", "8mb", "0"} {
		do(t, c.node(t, i), "config", "set", "maxmemory", limit)
		defer do(t, c.node(t, i), "config", "set", "maxmemory", "0")
	}
	stats, err = store.Stats(t.Context())
	if h := stats.Health; err != nil || h.MemoryMax == nil || *h.MemoryMax != 8<<20 {
		t.Errorf("the fullest node is not shown: %+v, %v", h, err)
	}
}

func testClusterLooks(t *testing.T, c *clusterBench) {
	store := markerstest.OpenStore(t, c.config(t, "redis-text-status"))
	ctx := t.Context()
	servers := map[string]bool{}
	var keys, ids []string
	for i := range 200 {
		id := strconv.Itoa(i)
		keys, ids = append(keys, "msg:"+id), append(ids, id)
		c.rdb.Set(ctx, "msg:"+id, "processing", time.Minute)
		c.rdb.Set(ctx, "retry:"+id, i%5, time.Minute)
	}
	c.rdb.Set(ctx, "retry:alone", 7, time.Minute)
	found, err := store.Look(ctx, append(keys, "msg:gone", "session:1"))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range found[:200] {
		owner := c.owner(t, keys[i])
		if s == nil || s.Key != keys[i] || s.Attempts == nil || *s.Attempts != int64(i%5) || string(s.Value) != "processing" || !strings.Contains(c.node(t, owner).Info(ctx, "server").Val(), s.Server) {
			t.Fatalf("%s: %+v", keys[i], s)
		}
		servers[s.Server] = true
	}
	if len(servers) != 3 || found[200] != nil || found[201] != nil {
		t.Errorf("of %d servers, gone %+v, foreign %+v", len(servers), found[200], found[201])
	}
	for i, s := range markerstest.Find(t, store, append(ids, "alone", "gone")...) {
		switch {
		case i < 200 && (s == nil || s.ID != ids[i] || *s.Attempts != int64(i%5)), i == 200 && !s.CounterAlone(), i == 201 && s != nil:
			t.Errorf("%d: %+v", i, s)
		}
	}
	if one, err := store.Lookup(ctx, "alone"); err != nil || len(one) != 1 || one[0].Key != "retry:alone" {
		t.Errorf("%+v, %v", one, err)
	}
}

func testClusterPages(t *testing.T, c *clusterBench) {
	fill(t, c.rdb, markerstest.Mix{Done: 900, Processing: 100, Foreign: 500})
	store := markerstest.OpenStore(t, c.config(t, "redis-text-status"))
	last := 0
	seen := pages(t, store, 70, func(page int) { last = page + 1 })
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s stands on %d pages", key, n)
		}
	}
	if len(seen) != 1000 || last < 15 {
		t.Errorf("%d markers on %d pages", len(seen), last)
	}
	for _, cursor := range []string{"abcdefabcdef.0", "17", ".", "x.1-2-3"} {
		if _, err := store.Browse(t.Context(), dedup.MarkerQuery{Limit: 70, Cursor: cursor}); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("the cursor %q: %v", cursor, err)
		}
	}
}

// pages returns on how many pages each marker stands. turned is called between two pages.
func pages(t *testing.T, store markers.Store, limit int, turned func(page int)) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for n, cursor := 1, ""; ; n++ {
		page, err := store.Browse(t.Context(), dedup.MarkerQuery{Limit: limit, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Markers {
			seen[m.Key]++
		}
		if cursor = page.Next; cursor == "" {
			return seen
		}
		turned(n)
	}
}

func testClusterPagesInMotion(t *testing.T, c *clusterBench) {
	const n = 45_000
	fill(t, c.rdb, markerstest.Mix{Done: n})
	cfg := c.config(t, "redis-text-status")
	cfg.Sweep.Count = 1000
	store := markerstest.OpenStore(t, cfg)
	for key, times := range pages(t, store, 200, func(int) {}) {
		if times != 1 {
			t.Errorf("%s stands on %d pages", key, times)
		}
	}
	seen := pages(t, store, 200, func(page int) {
		if page%7 > 0 {
			return
		}
		pipe := c.rdb.Pipeline()
		for i := range 700 {
			pipe.Set(t.Context(), fmt.Sprintf("msg:new-%d-%d", page, i), "done", 23*time.Hour)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	old := 0
	for key := range seen {
		if !strings.HasPrefix(key, "msg:new-") {
			old++
		}
	}
	if old != n {
		t.Errorf("%d of the %d markers that were there all the time are shown", old, n)
	}
}

func testClusterCheckInPart(t *testing.T, c *clusterBench) {
	const n = 45_000
	fill(t, c.rdb, markerstest.Mix{Done: n})
	r, err := markerstest.OpenStore(t, c.config(t, "redis-text-status")).Check(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	if share := float64(r.Pass.Matched) / n; r.Coverage < 0.43 || r.Coverage > 0.6 || share < r.Coverage-0.03 || share > r.Coverage+0.03 {
		t.Errorf("%.2f of the store is said to be looked at, and is %.2f", r.Coverage, share)
	}
}

func testClusterReported(t *testing.T, c *clusterBench) {
	store := markerstest.OpenStore(t, c.config(t, "redis-text-status"))
	for i := range 20 {
		pipeline := "orders-" + strconv.Itoa(i)
		c.rdb.HIncrBy(t.Context(), "dedupstats:"+pipeline, "processed", int64(i+1))
		if r, err := store.Reported(t.Context(), pipeline); err != nil || r.Outcomes["processed"] != int64(i+1) {
			t.Errorf("%s: %+v, %v", pipeline, r, err)
		}
	}
}

func testClusterCheck(t *testing.T, c *clusterBench) {
	fill(t, c.rdb, markerstest.Mix{Done: 900, Processing: 100, Foreign: 500})
	store := markerstest.OpenStore(t, c.config(t, "redis-text-status"))
	r, err := store.Check(t.Context(), 20)
	if err != nil || r.Keys != 1500 || r.Coverage != 1 || r.Pass.Matched != 1000 || len(r.Samples) != 20 || !strings.HasSuffix(r.Server, "cluster of 3 primaries") || len(r.Missing) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

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

// crowd puts so many done markers into the slot of one tag, and as many elsewhere.
func (c *clusterBench) crowd(t *testing.T, tag string, n int) {
	t.Helper()
	pipe := c.rdb.Pipeline()
	for i := range n {
		pipe.Set(t.Context(), fmt.Sprintf("msg:{%s}-%d", tag, i), "done", 23*time.Hour)
		pipe.Set(t.Context(), fmt.Sprint("msg:other-", i), "done", 23*time.Hour)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A moving slot goes from one node to another, key by key.
type moving struct {
	c        *clusterBench
	slot     int
	from, to *redis.Client
	toID     string
	port     string
}

// open begins to move the slot of a tag.
func (c *clusterBench) open(t *testing.T, tag string) *moving {
	t.Helper()
	from := c.owner(t, tag)
	to := (from + 1) % 3
	m := &moving{c: c, slot: client.Slot(tag), from: c.node(t, from), to: c.node(t, to)}
	m.toID = m.to.Do(t.Context(), "cluster", "myid").Val().(string)
	fromID := m.from.Do(t.Context(), "cluster", "myid").Val().(string)
	_, m.port, _ = strings.Cut(c.Nodes[to].Addr(), ":")
	do(t, m.to, "cluster", "setslot", m.slot, "importing", fromID)
	do(t, m.from, "cluster", "setslot", m.slot, "migrating", m.toID)
	return m
}

// move moves so many keys, or all where n is 0.
func (m *moving) move(t *testing.T, n int) {
	t.Helper()
	for moved := 0; n == 0 || moved < n; {
		keys, err := m.from.ClusterGetKeysInSlot(t.Context(), m.slot, min(200, max(1, n-moved+200*(1-min(1, n))))).Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) == 0 {
			return
		}
		args := []any{"migrate", "127.0.0.1", m.port, "", 0, 5000, "keys"}
		for _, key := range keys {
			args = append(args, key)
		}
		do(t, m.from, args...)
		moved += len(keys)
	}
}

// end gives the slot to the other node, and waits until all know.
func (m *moving) end(t *testing.T) {
	t.Helper()
	m.move(t, 0)
	do(t, m.to, "cluster", "setslot", m.slot, "node", m.toID)
	do(t, m.from, "cluster", "setslot", m.slot, "node", m.toID)
	markerstest.WaitUntil(t, "all nodes know who has the slot", func() bool {
		for i := range m.c.Nodes {
			ranges := m.c.node(t, i).ClusterSlots(t.Context()).Val()
			if !slices.ContainsFunc(ranges, func(r redis.ClusterSlot) bool {
				return r.Start <= m.slot && m.slot <= r.End && r.Nodes[0].ID == m.toID
			}) {
				return false
			}
		}
		return true
	})
	m.c.rdb.ReloadState(t.Context())
}

func testOpenSlot(t *testing.T, c *clusterBench) {
	for _, tag := range []string{"a", "b", "c", "d"} { // on each of the nodes, so in each order of the two
		t.Run("of the tag "+tag, func(t *testing.T) {
			c.flush(t)
			c.crowd(t, tag, 2000)
			slot := c.open(t, tag)
			slot.move(t, 500)
			cfg := c.config(t, "redis-text-status")
			cfg.Sweep.MaxKeysPerSecond, cfg.Sweep.Duty, cfg.Sweep.Every = 1500, 0.9, time.Second
			store := markerstest.OpenStore(t, cfg)
			run(t, store)
			first := await(t, store, "the pass is on its way", walking)
			slot.move(t, 700)
			stats := await(t, store, "the pass is complete", hasPass)
			if !stats.Pass.Started.Equal(first.Progress.Started) {
				t.Error("the pass began again")
			}
			markerstest.WantStates(t, *stats.Pass, map[dedup.State]int64{dedup.Done: 4000})
			slot.end(t)
			await(t, store, "a pass after it is complete", func(s dedup.StoreStats, err error) bool {
				return hasPass(s, err) && s.Pass.Started.After(stats.Pass.Ended.Add(time.Second)) && s.Pass.Matched == 4000
			})
		})
	}
}

func testLookInOpenSlot(t *testing.T, c *clusterBench) {
	c.crowd(t, "look", 300)
	store := markerstest.OpenStore(t, c.config(t, "redis-text-status"))
	slot := c.open(t, "look")
	slot.move(t, 100)
	var ids []string
	for i := range 300 {
		ids = append(ids, fmt.Sprintf("{look}-%d", i), fmt.Sprint("other-", i))
	}
	look := func() {
		t.Helper()
		for i, s := range markerstest.Find(t, store, append(ids, "{look}-none")...) {
			if i < 600 && (s == nil || s.ID != ids[i]) || i == 600 && s != nil {
				t.Fatalf("%d: %+v", i, s)
			}
		}
	}
	look()
	total := 0
	for cursor := ""; ; {
		page, err := store.Browse(t.Context(), dedup.MarkerQuery{Limit: 200, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		total += len(page.Markers)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if total != 600 {
		t.Errorf("pages show %d markers", total)
	}
	slot.end(t)
	look() // what it knows of the slot is of before
}

func testMovedSlot(t *testing.T, c *clusterBench) {
	c.crowd(t, "moved", 3000)
	cfg := c.config(t, "redis-text-status")
	cfg.Sweep.MaxKeysPerSecond, cfg.Sweep.Duty, cfg.Sweep.Every = 3000, 0.9, time.Second
	store := markerstest.OpenStore(t, cfg)
	run(t, store)
	await(t, store, "a pass is complete", hasPass)
	before := await(t, store, "the next pass is on its way", func(s dedup.StoreStats, err error) bool {
		return err == nil && s.Progress.Coverage > 0.1 && s.Progress.Coverage < 0.9 && s.Progress.Started.After(s.Pass.Ended)
	})
	c.open(t, "moved").end(t)
	again := await(t, store, "the pass says why it began again", func(s dedup.StoreStats, err error) bool {
		// A pass that ends between the beginning and the end of the move sees the keys on their way.
		return strings.Contains(s.Progress.Waiting, "of the slots of node") || strings.Contains(s.Progress.Waiting, "keys move from node to node")
	})
	if again.Pass == nil || again.Pass.Matched != 6000 {
		t.Errorf("the last pass is not shown any more, though its markers still are the store's: %+v", again.Pass)
	}
	stats := await(t, store, "a pass is complete again", func(s dedup.StoreStats, err error) bool {
		return hasPass(s, err) && s.Pass.Started.After(before.Progress.Started)
	})
	markerstest.WantStates(t, *stats.Pass, map[dedup.State]int64{dedup.Done: 6000})
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

func testClusterRights(t *testing.T, c *clusterBench) {
	fill(t, c.rdb, markerstest.Mix{Done: 300, Processing: 20, GaveUp: 3})
	line, ofCluster := documentedRules(t, "Redis 7.0:"), documentedRules(t, "On a Redis Cluster, on each node:")
	setUser := func(rules []string) {
		for i := range c.Nodes {
			args := []any{"acl", "setuser", "dashboard", "reset"}
			for _, r := range rules {
				args = append(args, r)
			}
			do(t, c.node(t, i), args...)
		}
	}
	cfg := c.config(t, "redis-text-status")
	cfg.Redis.URL = secret.New("redis://dashboard:PASSWORD@nowhere.invalid/0")
	c.crowd(t, "rights", 300)
	slot := c.open(t, "rights")
	slot.move(t, 100)
	defer slot.end(t)
	for _, without := range append([]string{""}, ofCluster...) {
		setUser(slices.DeleteFunc(slices.Concat(line, ofCluster), func(r string) bool { return r == without }))
		store := markerstest.OpenStore(t, cfg)
		r, err := store.Check(t.Context(), 20)
		if err != nil || strings.Join(r.Missing, " ") != without {
			t.Errorf("without %q: %+v, %v", without, r, err)
		}
		pass, err := store.Pass(t.Context())
		if text := dedup.PublicText(err); (err == nil) != (without == "") || !strings.Contains(text, without) || err == nil && pass.Matched != 920 {
			t.Errorf("without %q: a pass counts %d, %v", without, pass.Matched, err)
		}
	}
	// A replica has rules of its own.
	setUser(slices.Concat(line, ofCluster))
	do(t, c.node(t, 4), "acl", "setuser", "dashboard", "-scan")
	if r, err := markerstest.OpenStore(t, cfg).Check(t.Context(), 20); err != nil || strings.Join(r.Missing, " ") != "+scan" {
		t.Errorf("a replica that refuses SCAN: %+v, %v", r, err)
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
