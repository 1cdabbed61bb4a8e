package servers_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/lab/servers/serverstest"
)

func TestANodeOfARedisClusterTakesThePlaceOfItsPrimary(t *testing.T) {
	began := time.Now()
	c := serverstest.RedisCluster(t)
	t.Logf("it was whole after %s", time.Since(began))
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addresses()})
	defer rdb.Close()
	if err := rdb.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
}
