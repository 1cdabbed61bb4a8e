package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
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
	nodes := map[string]string{}
	for i, n := range m.Primaries {
		if all[i], err = healthOf(ctx, n); err != nil {
			return dedup.StoreHealth{At: started}, s.servers.Missed(n, err)
		}
		nodes[n.ID] = all[i].RunID
	}
	h := together(all)
	if s.servers.Cluster() {
		h.RunID, h.Nodes = "", nodes
	}
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

// enter learns who the server is and, at the first start, its clock and size.
func (w *walk) enter(ctx context.Context) error {
	for range 3 {
		if _, err := w.ping(ctx); err != nil {
			return err
		}
	}
	w.pace.Idle = w.node.Pings.Least()
	w.probedAt = time.Now()
	first := w.info == nil
	for _, conn := range []*redis.Conn{w.conn, w.side} {
		if err := w.identify(ctx, conn); err != nil {
			return err
		}
	}
	if !first {
		return nil
	}
	err := w.measure(ctx, w.conn)
	if err == nil {
		w.report("")
	}
	return err
}

// measure reads the clock and the size of the server.
func (w *walk) measure(ctx context.Context, conn redis.Cmdable) error {
	started := time.Now()
	pipe := conn.Pipeline()
	clock, size := pipe.Time(ctx), pipe.DBSize(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	if !w.servers.Cluster() {
		w.tally.pass.Started = started
	}
	w.keys, w.offset = size.Val(), clock.Val().Sub(started.Add(time.Since(started)/2))
	// Clocks of a cluster are taken to agree: a pass has one.
	sum := time.Duration(0)
	for _, p := range w.parts {
		sum += p.offset
	}
	w.tally.pass.ClockOffset = sum / time.Duration(len(w.parts))
	return nil
}

func (w *walk) ping(ctx context.Context) (time.Duration, error) {
	started := time.Now()
	if err := w.conn.Ping(ctx).Err(); err != nil {
		return 0, err
	}
	took := time.Since(started)
	w.node.Pings.Add(took)
	return took, nil
}

// identify returns ErrChanged if the server is not the one that the walk began with.
func (w *walk) identify(ctx context.Context, conn redis.Cmdable) error {
	now, err := readInfo(ctx, conn)
	if err != nil {
		return err
	}
	if now["cluster_enabled"] == "1" && !w.servers.Cluster() {
		return &dedup.Error{Kind: dedup.Unavailable, Public: client.OfCluster}
	}
	before := w.worked
	w.worked = now.Work()
	if w.info == nil {
		w.info = now
		return nil
	}
	w.pace.Served(w.worked, before)
	if change := w.info.Identity().Change(now.Identity()); change != "" {
		return fmt.Errorf("%w: %s", pace.ErrChanged, w.named(change))
	}
	return nil
}

// readInfo asks in two commands: servers before 7.0 take one section at a time.
func readInfo(ctx context.Context, conn redis.Cmdable) (client.Info, error) {
	pipe := conn.Pipeline()
	basics, commands := pipe.Info(ctx), pipe.Info(ctx, "commandstats")
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return client.ParseInfo(basics.Val() + "\r\n" + commands.Val()), nil
}
