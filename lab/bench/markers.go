package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
)

// The stores that a sweep has to walk over.
var (
	millionMarkers = markerstest.Mix{Done: 990_000, Processing: 9_000, NoExpiry: 500, GaveUp: 500}
	fewAmongMany   = markerstest.Mix{Done: 99_000, Processing: 900, NoExpiry: 50, GaveUp: 50, Foreign: 2_000_000}
)

// measureMarkers measures what walking over a store costs us and the store.
func measureMarkers(ctx context.Context, b *bench) error {
	err := b.withStore(ctx, millionMarkers, func(s *filled) error {
		if err := s.unthrottled(ctx, b.table); err != nil {
			return err
		}
		return s.polite(ctx, b.table, "1,000,000 markers")
	})
	if err != nil {
		return err
	}
	return b.withStore(ctx, fewAmongMany, func(s *filled) error {
		return s.polite(ctx, b.table, "100,000 markers among 2,000,000 other keys")
	})
}

// filled is a private Redis full of markers.
type filled struct {
	server *servers.Redis
	rdb    *redis.Client
	mix    markerstest.Mix
	at     time.Time // when the last key was written
}

func (b *bench) withStore(ctx context.Context, mix markerstest.Mix, use func(*filled) error) error {
	b.note("filling a Redis with %d keys", mix.Done+mix.Processing+mix.NoExpiry+mix.GaveUp+mix.Foreign)
	server, err := servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(b.folder, "redis")})
	if err != nil {
		return err
	}
	defer server.Kill()
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		return err
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	if err := markerstest.Fill(ctx, rdb, markerstest.TextStatus(), mix); err != nil {
		return err
	}
	return use(&filled{server: server, rdb: rdb, mix: mix, at: time.Now()})
}

func (s *filled) open(change func(markers.Config) markers.Config) (markers.Store, error) {
	cfg, ok := markers.Preset("redis-text-status")
	if !ok {
		return nil, fmt.Errorf("there is no preset redis-text-status")
	}
	cfg.Name, cfg.Redis.URL = "bench", secret.New(s.server.URL())
	return kinds.Open(change(cfg), quietLog())
}

// unthrottled compares a whole sweep with a bare SCAN over the same keys, in turns, so that other work on the machine
// weighs on both.
func (s *filled) unthrottled(ctx context.Context, t *table) error {
	store, err := s.open(markerstest.Unthrottled)
	if err != nil {
		return err
	}
	defer store.Close()
	var bare, sweep []time.Duration
	debug.FreeOSMemory()
	before, err := resetPeak()
	if err != nil {
		return err
	}
	for range 3 {
		start := time.Now()
		if err := s.bareScan(ctx); err != nil {
			return err
		}
		bare = append(bare, time.Since(start))
		start = time.Now()
		if err := s.pass(ctx, store); err != nil {
			return err
		}
		sweep = append(sweep, time.Since(start))
	}
	peak := memory("self", "VmHWM")
	slices.Sort(bare)
	slices.Sort(sweep)
	t.add("markers: bare SCAN COUNT 500 of 1,000,000 keys, median of 3", bare[1].Seconds(), "s", target{})
	t.add("markers: unthrottled sweep of the same keys", sweep[1].Seconds(), "s", target{})
	t.add("markers: unthrottled sweep / bare SCAN", sweep[1].Seconds()/bare[1].Seconds(), "ratio", target{atMost: 2.5})
	t.add("markers: growth of our memory (RSS) by sweeping", peak-before, "MiB", target{atMost: 64})
	return nil
}

func (s *filled) bareScan(ctx context.Context) error {
	for cursor := uint64(0); ; {
		_, next, err := s.rdb.Scan(ctx, cursor, "", 500).Result()
		if err != nil || next == 0 {
			return err
		}
		cursor = next
	}
}

// pass walks once and fails when that did not find the markers.
func (s *filled) pass(ctx context.Context, store markers.Store) error {
	pass, err := store.Pass(ctx)
	if err != nil {
		return err
	}
	if want := int64(s.mix.Done + s.mix.Processing + s.mix.NoExpiry); pass.Matched != want {
		return fmt.Errorf("the sweep found %d markers, want %d", pass.Matched, want)
	}
	return nil
}

// polite sweeps once at the default politeness while another client measures its PING. The PINGs cost the server too:
// what they cost before the sweep is subtracted.
func (s *filled) polite(ctx context.Context, t *table, what string) error {
	store, err := s.open(func(c markers.Config) markers.Config { return c })
	if err != nil {
		return err
	}
	defer store.Close()
	ended := make(chan error, 1)
	idleCPU := cpuSeconds(s.server.PID())
	idleStart := time.Now()
	idle, err := s.pings(ctx, func() bool { return time.Since(idleStart) > 10*time.Second })
	if err != nil {
		return err
	}
	idleShare := (cpuSeconds(s.server.PID()) - idleCPU) / time.Since(idleStart).Seconds()

	cpu, start := cpuSeconds(s.server.PID()), time.Now()
	go func() { ended <- s.pass(ctx, store) }()
	busy, err := s.pings(ctx, func() bool { return len(ended) > 0 })
	if passErr := <-ended; err == nil {
		err = passErr
	}
	if err != nil {
		return err
	}
	wall := time.Since(start).Seconds()
	share := (cpuSeconds(s.server.PID())-cpu)/wall - idleShare
	touched, err := s.touched(ctx)
	if err != nil {
		return err
	}
	t.add("markers: default sweep of "+what, wall, "s", target{atMost: 150})
	t.add("markers:   of one core of Redis", 100*share, "%", target{atMost: 5})
	t.add("markers:   p99 PING of another client without it", ms(idle), "ms", target{})
	t.add("markers:   added to that p99 PING", ms(busy-idle), "ms", target{atMost: 2})
	t.add("markers:   done markers whose idle time the sweeps changed", float64(touched), "keys", none)
	return nil
}

// pings returns the 99th percentile of PING, one each 5 ms.
func (s *filled) pings(ctx context.Context, done func() bool) (time.Duration, error) {
	var all []time.Duration
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ; len(all) == 0 || !done(); <-tick.C {
		start := time.Now()
		if err := s.rdb.Ping(ctx).Err(); err != nil {
			return 0, fmt.Errorf("PING: %w", err)
		}
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	return all[len(all)*99/100], nil
}

// touched counts the done markers that were used after they were written: their idle time is shorter than the time
// since then. Redis counts idle time in whole seconds, and a key may have been written up to its fill before.
func (s *filled) touched(ctx context.Context) (n int, err error) {
	prefix := markerstest.TextStatus().Prefix + "done-"
	for from := 0; from < s.mix.Done; from += 2000 {
		since := time.Since(s.at)
		cmds, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := from; i < min(from+2000, s.mix.Done); i++ {
				p.ObjectIdleTime(ctx, prefix+strconv.Itoa(i))
			}
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("read idle times: %w", err)
		}
		for _, cmd := range cmds {
			if c, ok := cmd.(*redis.DurationCmd); ok && c.Val() < since-2*time.Second {
				n++
			}
		}
	}
	return n, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
