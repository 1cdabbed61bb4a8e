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
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
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
	// hearMode is the mode of the child that subscribes to them and throws them away.
	hearMode = "hear events"
	// notifying is the setting of a server that tells of its keys.
	notifying = "K$gxe"
)

// A company is who else is at the server while markers are written.
type company struct {
	// flags is the setting of notifications, mode the part that a child process plays, empty for none.
	flags, mode string
	// p99s are the 99th percentiles of a write in ms, cores what the child used, server what the server used, peaks the child's
	// memory in MiB: one for each turn.
	p99s, cores, server, peaks []float64
}

// eventRace is what the turns have measured so far.
type eventRace struct {
	server  *servers.Redis
	clients []*redis.Client
	next    int64
	// rates are the writes per second of all turns.
	rates                        []float64
	nobody, deaf, bare, followed company
}

// measureEvents measures what following a store's notifications costs us and those who write to it, in turns: without
// notifications, with notifications that nobody hears, with a bare subscriber, and with us.
func measureEvents(ctx context.Context, b *bench) error {
	server, err := servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(b.folder, "events")})
	if err != nil {
		return err
	}
	defer server.Kill()
	r := &eventRace{server: server, clients: make([]*redis.Client, eventWriters),
		deaf: company{flags: notifying}, bare: company{flags: notifying, mode: hearMode}, followed: company{flags: notifying, mode: followMode}}
	for i := range r.clients {
		r.clients[i] = redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 1})
		defer r.clients[i].Close()
	}
	b.note("writing %d markers per second alone and in three kinds of company, %d times %s each", offeredWrites, eventTurns, eventTurn)
	for range eventTurns {
		for _, c := range []*company{&r.nobody, &r.deaf, &r.bare, &r.followed} {
			if err := r.turn(ctx, c); err != nil {
				return err
			}
		}
	}
	r.tell(b.table)
	return nil
}

// turn lets the writers write in that company.
func (r *eventRace) turn(ctx context.Context, c *company) (err error) {
	if err := r.clients[0].ConfigSet(ctx, "notify-keyspace-events", c.flags).Err(); err != nil {
		return err
	}
	pid := 0
	if c.mode != "" {
		guest, leave, err := attend(ctx, c.mode, r.server.URL())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, leave()) }()
		pid = guest
	}
	before, server := cpuSeconds(pid), cpuSeconds(r.server.PID())
	p99, rate, err := r.write(ctx)
	r.rates, c.p99s = append(r.rates, rate), append(c.p99s, ms(p99))
	c.server = append(c.server, (cpuSeconds(r.server.PID())-server)/eventTurn.Seconds())
	if pid != 0 {
		c.cores = append(c.cores, (cpuSeconds(pid)-before)/eventTurn.Seconds())
		c.peaks = append(c.peaks, memory(strconv.Itoa(pid), "VmHWM"))
	}
	return err
}

// attend starts a child, waits until it says that it listens, and returns a call that ends it.
func attend(ctx context.Context, mode, url string) (pid int, leave func() error, err error) {
	guest, err := child(ctx, mode, url)
	if err != nil {
		return 0, nil, err
	}
	ends, err := guest.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	out, err := guest.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := guest.Start(); err != nil {
		return 0, nil, fmt.Errorf("start a process that listens: %w", err)
	}
	leave = func() error { return errors.Join(ends.Close(), guest.Wait()) }
	if _, err := out.Read(make([]byte, 16)); err != nil {
		return 0, nil, errors.Join(fmt.Errorf("wait until the notifications are heard: %w", err), leave())
	}
	return guest.Process.Pid, leave, nil
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
	grown := func(c *company) float64 {
		more := make([]float64, len(c.p99s))
		for i := range more {
			more[i] = c.p99s[i] - r.nobody.p99s[i]
		}
		return middle(more)
	}
	t.add("events: markers written per second, median of all turns", middle(r.rates), "1/s", target{atLeast: 0.98 * offeredWrites})
	t.add("events:   p99 of a write without notifications", middle(r.nobody.p99s), "ms", target{})
	t.add("events:   added to it by notifications that nobody hears", grown(&r.deaf), "ms", target{})
	t.add("events:   added to it by a bare subscriber of another library", grown(&r.bare), "ms", target{})
	t.add("events:   added to it by us, median of the pairs", grown(&r.followed), "ms", target{atMost: 0.5})
	t.add("events:   of a core that the bare subscriber takes", middle(r.bare.cores), "cores", target{})
	t.add("events:   of a core that our process takes", middle(r.followed.cores), "cores", target{atMost: 0.3})
	t.add("events:   peak memory of our process", slices.Max(r.followed.peaks), "MiB", target{atMost: 80})
	t.add("events:   of a core that the server takes without notifications", middle(r.nobody.server), "cores", target{})
	t.add("events:   of a core that the server takes with a bare subscriber", middle(r.bare.server), "cores", target{})
	t.add("events:   of a core that the server takes with us", middle(r.followed.server), "cores", target{})
}

// hearEvents subscribes to the notifications of the store at the URL and throws them away, until its standard input ends.
func hearEvents(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("write the URL of a store")
	}
	options, err := redis.ParseURL(args[0])
	if err != nil {
		return err
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	heard := rdb.PSubscribe(ctx, "__keyspace@0__:msg:dedup:*")
	if _, err := heard.Receive(ctx); err != nil {
		return errors.Join(err, heard.Close())
	}
	fmt.Println("subscribed")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = heard.Close()
	}()
	for {
		if _, err := heard.Receive(ctx); err != nil {
			return nil // closed
		}
	}
}

// followEvents follows the notifications of the store at the URL until its standard input ends.
func followEvents(ctx context.Context, args []string) error {
	cfg, ok := markers.Preset("redis-json-status")
	if !ok || len(args) != 1 {
		return errors.New("write the URL of a store")
	}
	cfg.Name, cfg.Redis.URL, cfg.Events = "bench", secret.New(args[0]), true
	store, err := kinds.Open(cfg, quietLog())
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
