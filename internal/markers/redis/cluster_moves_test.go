package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/lab/markerstest"
)

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
