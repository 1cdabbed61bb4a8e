package servers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisBus is how far behind its port a node of a cluster listens for the others.
const redisBus = 10_000

// A RedisCluster is a private Redis Cluster of three primaries with a replica each.
type RedisCluster struct {
	// Nodes are the primaries, as the cluster began, and their replicas in the same order.
	Nodes []*Redis
}

// StartRedisCluster starts a cluster whose nodes take a second to call one down.
func StartRedisCluster(ctx context.Context, options RedisOptions) (*RedisCluster, error) {
	const primaries = 3
	c := &RedisCluster{Nodes: make([]*Redis, 2*primaries)}
	failed := make([]error, len(c.Nodes))
	var starting sync.WaitGroup
	for i := range c.Nodes {
		starting.Go(func() {
			of := options
			of.Dir, of.bus = filepath.Join(options.Dir, fmt.Sprintf("node%d", i+1)), true
			of.Args = append([]string{"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000",
				"--cluster-replica-validity-factor", "0", "--cluster-migration-barrier", "9", "--repl-diskless-sync-delay", "0"}, options.Args...)
			c.Nodes[i], failed[i] = StartRedis(ctx, of)
		})
	}
	starting.Wait()
	err := errors.Join(failed...)
	if err == nil {
		err = c.join(ctx, primaries)
	}
	if err != nil {
		c.Kill()
		return nil, fmt.Errorf("start a Redis Cluster: %w", err)
	}
	return c, nil
}

// Addresses are host:port of each node.
func (c *RedisCluster) Addresses() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Addr())
	}
	return all
}

// Kill ends all nodes at once.
func (c *RedisCluster) Kill() {
	for _, n := range c.Nodes {
		if n != nil {
			n.Kill()
		}
	}
}

// join makes the nodes a cluster, and waits until each says that it is whole.
func (c *RedisCluster) join(ctx context.Context, primaries int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	clients := make([]*redis.Client, len(c.Nodes))
	for i, n := range c.Nodes {
		clients[i] = redis.NewClient(&redis.Options{Addr: n.Addr(), Protocol: 2})
		defer clients[i].Close()
	}
	const slots = 16384
	for i, r := range clients {
		commands := [][]any{{"cluster", "set-config-epoch", i + 1}}
		if i < primaries {
			add := []any{"cluster", "addslots"}
			for slot := slots * i / primaries; slot < slots*(i+1)/primaries; slot++ {
				add = append(add, slot)
			}
			commands = append(commands, add)
		}
		for _, n := range c.Nodes[:i] {
			commands = append(commands, []any{"cluster", "meet", "127.0.0.1", strconv.Itoa(n.port)})
		}
		for _, command := range commands {
			if err := r.Do(ctx, command...).Err(); err != nil {
				return fmt.Errorf("%v: %w", command[:2], err)
			}
		}
	}
	for i := primaries; i < len(clients); i++ {
		id, err := clients[i-primaries].Do(ctx, "cluster", "myid").Text()
		if err != nil {
			return err
		}
		if err := c.until(ctx, i, func() error { return clients[i].Do(ctx, "cluster", "replicate", id).Err() }); err != nil {
			return err
		}
	}
	for i, r := range clients {
		if err := c.until(ctx, i, func() error { return whole(ctx, r, len(clients), i >= primaries) }); err != nil {
			return err
		}
	}
	return nil
}

// whole returns why a node is not ready: it does not know all others and their slots, or does not follow its primary yet.
func whole(ctx context.Context, r *redis.Client, nodes int, follows bool) error {
	info, err := r.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	known, err := r.ClusterNodes(ctx).Result()
	if err != nil {
		return err
	}
	link, err := r.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	switch {
	case !strings.Contains(info, "cluster_state:ok"):
		return errors.New("the cluster is not whole: " + info)
	case strings.Count(known, "connected") != nodes || strings.Count(known, "slave") != nodes/2:
		return errors.New("the nodes do not know each other: " + known)
	case follows && !strings.Contains(link, "master_link_status:up"):
		return errors.New("the replica does not follow yet: " + link)
	}
	return nil
}

// until asks again until there is no error.
func (c *RedisCluster) until(ctx context.Context, node int, ready func() error) error {
	return poll(ctx, c.Nodes[node].process, func(context.Context) error { return ready() })
}
