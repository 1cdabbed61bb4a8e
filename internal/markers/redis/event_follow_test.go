package redis_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
)

// TestWhoFollowsAStoreHearsOfEachMarker follows the notifications of a server, and across a gap.
func TestWhoFollowsAStoreHearsOfEachMarker(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	store := listening(t, "redis-flag", server.URL(), nil)
	var mu sync.Mutex
	heard := map[string]int{}
	take := func(e dedup.StoreEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == dedup.MarkerCompleted && !e.At.IsZero() {
			heard[e.ID]++
		}
	}
	follow := store.(interface {
		Follow(func(dedup.StoreEvent)) (func() bool, bool)
	}).Follow
	stop, ok := follow(take)
	if !ok {
		t.Fatal("a store that listens cannot be followed")
	}
	for _, id := range []string{"a", "b", "a", "с: \x00*"} {
		do(t, rdb, "set", "msg:processed:"+id, "1", "ex", 86400)
	}
	do(t, rdb, "set", "foreign:a", "1")
	await(t, store, "all four are counted", func(s dedup.StoreStats, err error) bool {
		return err == nil && s.Events.Completions+s.Events.Again == 4
	})
	if !stop() {
		t.Error("something was missed without a gap")
	}
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 1, "с: \x00*": 1}, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	stop, _ = follow(take)
	do(t, rdb, "config", "set", "notify-keyspace-events", "K$gx")
	do(t, rdb, "client", "kill", "type", "pubsub")
	await(t, store, "the gap is noted", func(s dedup.StoreStats, err error) bool { return err == nil && s.Events.Epoch > 1 })
	if stop() {
		t.Error("a gap shows as if nothing was missed")
	}
}
