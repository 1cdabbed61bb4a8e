package redis

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/redis/client"
)

// health returns how the store is. Of a cluster it is that of all primaries together.
func (s *store) health(ctx context.Context) (dedup.StoreHealth, error) {
	started := time.Now()
	m, err := s.servers.Map(ctx)
	if err != nil {
		return dedup.StoreHealth{At: started}, err
	}
	all := make([]dedup.StoreHealth, len(m.Primaries))
	ids := make([]string, len(m.Primaries))
	for i, n := range m.Primaries {
		if all[i], err = healthOf(ctx, n); err != nil {
			return dedup.StoreHealth{At: started}, s.servers.Missed(n, err)
		}
		ids[i] = all[i].RunID
	}
	h := together(all)
	h.RunID = runIDs(ids)
	return h, nil
}

func healthOf(ctx context.Context, n *client.Node) (dedup.StoreHealth, error) {
	started := time.Now()
	if err := n.Ping(ctx).Err(); err != nil {
		return dedup.StoreHealth{}, err
	}
	n.Pings.Add(time.Since(started))
	pipe := n.Pipeline()
	text, size := pipe.Info(ctx), pipe.DBSize(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return dedup.StoreHealth{}, err
	}
	said := client.ParseInfo(text.Val())
	h := said.Health()
	h.CPU = n.CPU.Since(h.RunID, said.ProcessorTime(), started)
	keys := size.Val()
	h.At, h.Keys, h.LatencyP99 = started, &keys, n.Pings.P99()
	return h, nil
}

// together joins the health of the nodes of a cluster. Keys and evictions are summed; latency and processor are those of the worst node, and so are
// memory and policy where any has a limit: a full node evicts or refuses, whatever room others have.
func together(all []dedup.StoreHealth) dedup.StoreHealth {
	sum := all[0]
	versions := []string{sum.Version}
	for _, h := range all[1:] {
		if !slices.Contains(versions, h.Version) {
			versions = append(versions, h.Version)
		}
		if fuller(h, sum) {
			sum.MemoryUsed, sum.MemoryMax = h.MemoryUsed, h.MemoryMax
		} else if sum.MemoryMax == nil {
			sum.MemoryUsed = added(sum.MemoryUsed, h.MemoryUsed)
		}
		if sum.EvictionPolicy == "noeviction" || sum.EvictionPolicy == "" {
			sum.EvictionPolicy = h.EvictionPolicy
		}
		sum.Keys, sum.EvictedKeys = added(sum.Keys, h.Keys), added(sum.EvictedKeys, h.EvictedKeys)
		sum.LatencyP99 = max(sum.LatencyP99, h.LatencyP99)
		if h.CPU != nil && (sum.CPU == nil || *h.CPU > *sum.CPU) {
			sum.CPU = h.CPU
		}
	}
	sum.Version = strings.Join(versions, " and ")
	return sum
}

// fuller reports whether a node has less room than another.
func fuller(a, b dedup.StoreHealth) bool { return cmp.Compare(fullness(a), fullness(b)) > 0 }

func fullness(h dedup.StoreHealth) float64 {
	if h.MemoryMax == nil || h.MemoryUsed == nil {
		return 0
	}
	return float64(*h.MemoryUsed) / float64(*h.MemoryMax)
}

// added is unknown where one part is.
func added(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	n := *a + *b
	return &n
}
