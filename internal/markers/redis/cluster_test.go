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
