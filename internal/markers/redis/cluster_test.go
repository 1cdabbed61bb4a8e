package redis_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// inCluster describes the store of a cluster, whose URL leads nowhere.
func inCluster(t testing.TB, cluster *servers.RedisCluster) markers.Config {
	cfg := markerstest.Config(t, "redis-text-status", "redis://nowhere.invalid/0")
	cfg.Redis.Cluster = cluster.Addresses()[:2]
	return cfg
}

// clusterClient returns a client of all nodes, until the test ends.
func clusterClient(t testing.TB, cluster *servers.RedisCluster) *redis.ClusterClient {
	t.Helper()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addresses()})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestEachMarkerOfAClusterIsCountedOnce(t *testing.T) {
	cluster := serverstest.RedisCluster(t)
	rdb := clusterClient(t, cluster)
	pipe := rdb.Pipeline()
	for i := range 3000 {
		pipe.Set(t.Context(), fmt.Sprint("msg:done-", i), "done", 86400e9)
		pipe.Set(t.Context(), fmt.Sprint("other:", i), "x", 0)
	}
	for i := range 60 {
		pipe.Set(t.Context(), fmt.Sprint("msg:busy-", i), "processing", 300e9)
		pipe.Set(t.Context(), fmt.Sprint("msg:stuck-", i), "processing", 0)
		pipe.Set(t.Context(), fmt.Sprint("retry:busy-", i), 3, 86400e9)
		pipe.Set(t.Context(), fmt.Sprint("retry:over-", i), 5, 86400e9)
	}
	if _, err := pipe.Exec(context.Background()); err != nil {
		t.Fatal(err)
	}
	store := markerstest.OpenStore(t, inCluster(t, cluster))
	pass := markerstest.MustPass(t, store)
	markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Done: 3000, dedup.Processing: 120})
	if pass.NoExpiry[dedup.Processing] != 60 || pass.Completions.Total() != 3000 || pass.Retrying != 60 || pass.GaveUp.Total() != 60 || pass.Examined != 6240 {
		t.Errorf("%+v", pass)
	}
	stats, err := store.Stats(t.Context())
	if err != nil || *stats.Health.Keys != 6240 || stats.Health.MemoryMax != nil || stats.Health.Role != "master" {
		t.Errorf("%+v, %v", stats.Health, err)
	}
}
