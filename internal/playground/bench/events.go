package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/playground/servers"
	"dedup-dashboard/internal/secret"
)

const (
	// offeredWrites is how many markers are written per second, half of them claims, half completions.
	offeredWrites = 5000
	// eventWriters write at the same time, each over a connection of its own.
	eventWriters = 8
	// eventTurn is how long the writers go on with and without us, eventTurns how often in turns: many short ones, so that
	// other work on the machine weighs on both of a pair.
	eventTurn  = 4 * time.Second
	eventTurns = 9
	// followMode is the mode of the child that follows a store's notifications, as the dashboard does.
	followMode = "follow events"
)

// measureEvents measures what following a store's notifications costs us and those who write to it: in turns without
// notifications and without us, and with both.
func measureEvents(ctx context.Context, b *bench) error {
	server, err := servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(b.folder, "events")})
	if err != nil {
		return err
	}
	defer server.Kill()
	r := &eventRace{server: server, clients: make([]*redis.Client, eventWriters)}
	for i := range r.clients {
		r.clients[i] = redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 1})
		defer r.clients[i].Close()
	}
	b.note("writing %d markers per second with and without us, %d times %s each", offeredWrites, eventTurns, eventTurn)
	for range eventTurns {
		if err := r.without(ctx); err != nil {
			return err
		}
		if err := r.with(ctx); err != nil {
			return err
		}
	}
	r.tell(b.table)
	return nil
}

// eventRace is what the turns have measured so far.
type eventRace struct {
	server  *servers.Redis
	clients []*redis.Client
	next    int64
	// bare and followed are the 99th percentiles of a write, cores what our process used, peaks its memory in MiB, busy the
	// cores that the server used, without and with us, and rates the writes per second.
	bare, followed, cores, peaks, idle, busy, rates []float64
}

func (r *eventRace) without(ctx context.Context) error {
	if err := r.clients[0].ConfigSet(ctx, "notify-keyspace-events", "").Err(); err != nil {
		return err
	}
	before := cpuSeconds(r.server.PID())
	p99, rate, err := r.write(ctx)
	r.bare, r.rates = append(r.bare, ms(p99)), append(r.rates, rate)
	r.idle = append(r.idle, (cpuSeconds(r.server.PID())-before)/eventTurn.Seconds())
	return err
}

func (r *eventRace) with(ctx context.Context) (err error) {
	if err := r.clients[0].ConfigSet(ctx, "notify-keyspace-events", "K$gxe").Err(); err != nil {
		return err
	}
	us, err := child(ctx, followMode, r.server.URL())
	if err != nil {
		return err
	}
	ends, err := us.StdinPipe()
	if err != nil {
		return err
	}
	out, err := us.StdoutPipe()
	if err != nil {
		return err
	}
	if err := us.Start(); err != nil {
		return fmt.Errorf("start a process that follows: %w", err)
	}
	defer func() {
		_ = ends.Close()
		err = errors.Join(err, us.Wait())
	}()
	if _, err := out.Read(make([]byte, 16)); err != nil {
		return fmt.Errorf("wait until the notifications are counted: %w", err)
	}
	before, server := cpuSeconds(us.Process.Pid), cpuSeconds(r.server.PID())
	p99, rate, err := r.write(ctx)
	r.followed, r.rates = append(r.followed, ms(p99)), append(r.rates, rate)
	r.cores = append(r.cores, (cpuSeconds(us.Process.Pid)-before)/eventTurn.Seconds())
	r.busy = append(r.busy, (cpuSeconds(r.server.PID())-server)/eventTurn.Seconds())
	r.peaks = append(r.peaks, memory(strconv.Itoa(us.Process.Pid), "VmHWM"))
	return err
}

// write offers the writes for one turn and returns the 99th percentile of what one took, and how many were made per second.
func (r *eventRace) write(ctx context.Context) (p99 time.Duration, rate float64, err error) {
	took := make([][]time.Duration, eventWriters)
	errs := make([]error, eventWriters)
	var all sync.WaitGroup
	start := time.Now()
	for w := range eventWriters {
		first := r.next + int64(w)
		all.Go(func() { took[w], errs[w] = writeMarkers(ctx, r.clients[w], first, start) })
	}
	all.Wait()
	passed := time.Since(start).Seconds()
	joined := slices.Concat(took...)
	r.next += int64(len(joined)+1) * eventWriters
	if err := errors.Join(errs...); err != nil || len(joined) == 0 {
		return 0, 0, fmt.Errorf("write markers: %w", err)
	}
	slices.Sort(joined)
	return joined[len(joined)*99/100], float64(len(joined)) / passed, nil
}

// writeMarkers claims and completes one marker after the other, each write at its time; one that is late is made at once.
func writeMarkers(ctx context.Context, rdb *redis.Client, first int64, start time.Time) ([]time.Duration, error) {
	const apart = time.Second * eventWriters / offeredWrites
	var took []time.Duration
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := 0; time.Since(start) < eventTurn; i++ {
		if wait := time.Until(start.Add(time.Duration(i) * apart)); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return took, ctx.Err()
			}
		}
		key := "msg:dedup:" + strconv.FormatInt(first+int64(i/2)*eventWriters, 10)
		words := []any{"set", key, "processing", "nx", "ex", 300}
		if i%2 == 1 {
			words = []any{"set", key, `{"status": "success", "result": null, "time": 1734400000.123456}`, "ex", 86400}
		}
		began := time.Now()
		if err := rdb.Do(ctx, words...).Err(); err != nil && !errors.Is(err, redis.Nil) {
			return took, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// tell prints the medians of the turns.
func (r *eventRace) tell(t *table) {
	middle := func(all []float64) float64 {
		slices.Sort(all)
		return all[len(all)/2]
	}
	grown := make([]float64, len(r.bare))
	for i := range grown {
		grown[i] = r.followed[i] - r.bare[i]
	}
	t.add("events: markers written per second, median of all turns", middle(r.rates), "1/s", target{atLeast: 0.98 * offeredWrites})
	t.add("events:   p99 of a write without notifications and without us", middle(r.bare), "ms", target{})
	t.add("events:   added to that p99 with both, median of the pairs", middle(grown), "ms", target{atMost: 0.5})
	t.add("events:   of a core that our process takes", middle(r.cores), "cores", target{atMost: 0.3})
	t.add("events:   peak memory of our process", slices.Max(r.peaks), "MiB", target{atMost: 80})
	t.add("events:   of a core that the server takes without", middle(r.idle), "cores", target{})
	t.add("events:   of a core that the server takes with both", middle(r.busy), "cores", target{})
}

// followEvents follows the notifications of the store at the URL until its standard input ends.
func followEvents(ctx context.Context, args []string) error {
	cfg, ok := markers.Preset("redis-json-status")
	if !ok || len(args) != 1 {
		return errors.New("write the URL of a store")
	}
	cfg.Name, cfg.Redis.URL, cfg.Events = "bench", secret.New(args[0]), true
	store, err := markers.Open(cfg, quietLog())
	if err != nil {
		return err
	}
	defer store.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { store.Run(ctx) })
	running.Go(func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := false
	for {
		// The collector reads as often at most.
		if stats, err := store.Stats(ctx); err == nil && stats.Events.Listening && !told {
			told = true
			fmt.Println("counted")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
