package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// SentinelMaster is the name by which private Sentinels monitor their primary.
const SentinelMaster = "private"

// A RedisGroup is a private primary with replicas, and the Sentinels that make one of these the primary when it fails.
type RedisGroup struct {
	// Servers are the primary, as the group began, and its replicas.
	Servers   []*Redis
	Sentinels []*Redis
}

// StartRedisGroup starts a primary, a replica and three Sentinels, which take half a second to call a server down.
func StartRedisGroup(ctx context.Context, options RedisOptions) (*RedisGroup, error) {
	g := &RedisGroup{}
	start := func(name string, args ...string) (*Redis, error) {
		of := options
		of.Dir, of.Args = filepath.Join(options.Dir, name), append(args, options.Args...)
		return StartRedis(ctx, of)
	}
	fail := func(err error) (*RedisGroup, error) {
		g.Kill()
		return nil, fmt.Errorf("start a group of Redis servers: %w", err)
	}
	primary, err := start("primary")
	if err != nil {
		return fail(err)
	}
	g.Servers = append(g.Servers, primary)
	port := strconv.Itoa(primary.port)
	replica, err := start("replica", "--replicaof", "127.0.0.1", port)
	if err != nil {
		return fail(err)
	}
	g.Servers = append(g.Servers, replica)
	for i := range 3 {
		dir := filepath.Join(options.Dir, fmt.Sprintf("sentinel%d", i+1))
		file := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("sentinel monitor %s 127.0.0.1 %s 2\nsentinel down-after-milliseconds %[1]s 500\nsentinel failover-timeout %[1]s 5000\n", SentinelMaster, port)
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return fail(err)
		}
		s, err := StartRedis(ctx, RedisOptions{Dir: dir, Root: options.Root, sentinel: file})
		if err != nil {
			return fail(err)
		}
		g.Sentinels = append(g.Sentinels, s)
	}
	return g, nil
}

// Addresses are host:port of each Sentinel.
func (g *RedisGroup) Addresses() []string {
	var all []string
	for _, s := range g.Sentinels {
		all = append(all, s.Addr())
	}
	return all
}

// Know reports whether every Sentinel knows so many replicas, and each other: before that they make none a primary.
func (g *RedisGroup) Know(ctx context.Context, replicas int) bool {
	for _, s := range g.Sentinels {
		c := redis.NewSentinelClient(&redis.Options{Addr: s.Addr()})
		m, err := c.Master(ctx, SentinelMaster).Result()
		_ = c.Close()
		if err != nil || m["num-slaves"] != strconv.Itoa(replicas) || m["num-other-sentinels"] != strconv.Itoa(len(g.Sentinels)-1) {
			return false
		}
	}
	return true
}

// Kill ends all of the group at once.
func (g *RedisGroup) Kill() {
	for _, s := range append(g.Sentinels, g.Servers...) {
		s.Kill()
	}
}
