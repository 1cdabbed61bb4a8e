package redis_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/schemes"
)

// notifying makes a server tell of its keys.
var notifying = []string{"--notify-keyspace-events", "K$gxe"}

// listening opens a store that follows its notifications, and waits until they are counted.
func listening(t *testing.T, preset, url string, change func(*markers.Config)) markers.Store {
	t.Helper()
	cfg := markerstest.Config(t, preset, url)
	cfg.Events = true
	cfg.Sweep.Every = time.Second
	if change != nil {
		change(&cfg)
	}
	store := markerstest.OpenStore(t, cfg)
	run(t, store)
	await(t, store, "its notifications are counted", counting)
	return store
}

func counting(s dedup.StoreStats, err error) bool {
	return err == nil && s.Events != nil && s.Events.Listening
}

// eventCounts are the counts of StoreEvents that a truth is compared with.
type eventCounts struct {
	Claims, Completions, Failures, Expired, GaveUp, Lost, Again, InFlight, Asked int64
}

func countsOf(e *dedup.StoreEvents) eventCounts {
	c := eventCounts{e.Claims, e.Completions, e.Failures, e.Expired, e.GaveUp, e.Lost, e.Again, e.InFlight, -1}
	if e.Asked != nil {
		c.Asked = *e.Asked
	}
	return c
}

// awaitCounts waits until the counts are those, within one epoch.
func awaitCounts(t *testing.T, store markers.Store, epoch int64, want eventCounts) dedup.StoreEvents {
	t.Helper()
	var last *dedup.StoreEvents
	deadline := time.Now().Add(time.Minute)
	stats := await(t, store, fmt.Sprintf("the counts are %+v", want), func(s dedup.StoreStats, err error) bool {
		last = s.Events
		return err == nil && (countsOf(s.Events) == want || time.Now().After(deadline))
	})
	if d := cmp.Diff(want, countsOf(last)); d != "" {
		t.Errorf("counts (-truth +counted):\n%s", d)
	}
	if !last.Listening || last.Epoch != epoch {
		t.Errorf("epoch %d, want %d: %+v", last.Epoch, epoch, last)
	}
	return *stats.Events
}

var errWork = errors.New("the work failed")

// crowd lets consumers of one scheme handle messages with every fault, and counts what is true.
type crowd struct {
	truth    eventCounts
	mu       sync.Mutex
	script   map[string][]error
	took     []time.Duration
	consumer func(schemes.Work) schemes.Consumer
}

// fates are what becomes of the deliveries of a message, in turn; a message is sent as often as it has fates.
func fates(r *rand.Rand, n int) map[string][]error {
	all := map[string][]error{}
	for i := range n {
		id := fmt.Sprintf("m-%d", i)
		switch p := r.Float64(); {
		case p < 0.10: // fails once or twice, then succeeds
			for range 1 + r.IntN(2) {
				all[id] = append(all[id], errWork)
			}
			all[id] = append(all[id], nil)
		case p < 0.13: // fails for ever
			for range 6 {
				all[id] = append(all[id], errWork)
			}
		case p < 0.15: // crashes, and loops from then on
			all[id] = []error{schemes.ErrDied, nil, nil}
		case p < 0.25: // is sent more than once
			all[id] = []error{nil, nil, nil}
		default:
			all[id] = []error{nil}
		}
	}
	return all
}

func (c *crowd) work(ctx context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.script[id][0]
	switch {
	case next == nil:
		atomic.AddInt64(&c.truth.Completions, 1)
	case errors.Is(next, errWork):
		atomic.AddInt64(&c.truth.Failures, 1)
	default:
		atomic.AddInt64(&c.truth.InFlight, 1)
	}
	atomic.AddInt64(&c.truth.Claims, 1)
	return next
}

// run handles every delivery, several messages at once and those of one message in turn.
func (c *crowd) run(t *testing.T, fates map[string][]error) {
	t.Helper()
	c.script = maps.Clone(fates)
	consumer := c.consumer(c.work)
	ids := make(chan string)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for id := range ids {
				for range len(fates[id]) {
					_, ran, err := consumer.Handle(t.Context(), id)
					if err != nil && !errors.Is(err, schemes.ErrDied) {
						t.Error(err)
					}
					atomic.AddInt64(&c.truth.Asked, 1)
					if ran {
						c.mu.Lock()
						c.script[id] = c.script[id][1:]
						c.mu.Unlock()
					}
				}
			}
		})
	}
	keys := make([]string, 0, len(fates))
	for id := range fates {
		keys = append(keys, id)
	}
	for _, id := range keys {
		ids <- id
	}
	close(ids)
	all.Wait()
}

func TestEveryCountOfTheStoreEventsIsExact(t *testing.T) {
	t.Parallel()
	const messages = 3000
	for name, c := range map[string]struct {
		preset   string
		consumer func(*redis.Client) func(schemes.Work) schemes.Consumer
		// change makes the truth of the work what the scheme can tell of it.
		change func(*eventCounts)
	}{
		"R1": {"redis-json-status", func(rdb *redis.Client) func(schemes.Work) schemes.Consumer {
			return func(w schemes.Work) schemes.Consumer { return schemes.R1{Redis: rdb, Work: w} }
		}, func(*eventCounts) {}},
		"R3": {"redis-text-status", func(rdb *redis.Client) func(schemes.Work) schemes.Consumer {
			return func(w schemes.Work) schemes.Consumer { return schemes.R3{Redis: rdb, Work: w} }
		}, func(*eventCounts) {}},
		"R6": {"redis-timestamp", func(rdb *redis.Client) func(schemes.Work) schemes.Consumer {
			return func(w schemes.Work) schemes.Consumer { return schemes.R6{Redis: rdb, Work: w} }
		}, func(truth *eventCounts) { truth.Completions, truth.InFlight = 0, 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, rdb := markerstest.StartRedis(t, notifying...)
			store := listening(t, c.preset, server.URL(), nil)
			crowd := &crowd{consumer: c.consumer(rdb)}
			work := fates(rand.New(rand.NewPCG(1, 2)), messages)
			for _, f := range work {
				if name == "R3" && len(f) == 6 {
					crowd.truth.GaveUp += 2 // the fifth failure and the sixth, of a copy of the same message
					crowd.truth.Lost++
				}
			}
			crowd.run(t, work)
			c.change(&crowd.truth)
			got := awaitCounts(t, store, 1, crowd.truth)
			if want := crowd.truth.Completions; got.Work.Count() != want {
				t.Errorf("%d times of work, want %d", got.Work.Count(), want)
			}
			if c := got.Command; !strings.EqualFold(c, map[string]string{"R1": "GET", "R3": "SETNX", "R6": "SET"}[name]) {
				t.Errorf("asked with %q", c)
			}
		})
	}
}

func TestASecondSetOfAFlagIsWorkDoneAgain(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	store := listening(t, "redis-flag", server.URL(), nil)
	ctx := t.Context()
	for _, id := range []string{"a", "b", "a", "c"} {
		rdb.Exists(ctx, "msg:processed:"+id)
		rdb.Set(ctx, "msg:processed:"+id, "1", 24*time.Hour)
	}
	got := awaitCounts(t, store, 1, eventCounts{Completions: 3, Again: 1, Asked: 4})
	if d := cmp.Diff([]string{"a"}, got.AgainIDs); d != "" {
		t.Error(d)
	}
}

// TestWhatTheEventsCameToIsKnownForMomentsOfTheLastSeconds: certain once the server has answered after it, and from then on the same.
func TestWhatTheEventsCameToIsKnownForMomentsOfTheLastSeconds(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	store := listening(t, "redis-flag", server.URL(), nil)
	trail := store.(interface {
		EventsAt(time.Time) (dedup.EventCounts, bool)
	})
	if c, ok := trail.EventsAt(time.Now().Add(time.Hour)); ok {
		t.Errorf("it knows the future: %+v", c)
	}
	if c, ok := trail.EventsAt(time.Now().Add(-time.Hour)); ok {
		t.Errorf("it knows what was before it listened: %+v", c)
	}
	var moments []time.Time
	for round := range 4 {
		for i := range 20 {
			rdb.Set(t.Context(), fmt.Sprintf("msg:processed:%d-%d", round, i), "1", time.Hour)
		}
		await(t, store, "all is counted", func(s dedup.StoreStats, err error) bool {
			return err == nil && s.Events.Completions == int64(20*(round+1))
		})
		moments = append(moments, time.Now())
	}
	await(t, store, "the last moment is certain", func(dedup.StoreStats, error) bool { _, ok := trail.EventsAt(moments[3]); return ok })
	for round, at := range moments {
		if c, ok := trail.EventsAt(at); !ok || c.Completions != int64(20*(round+1)) || c.Epoch != 1 {
			t.Errorf("round %d: %t %+v", round, ok, c)
		}
	}
	rdb.ConfigSet(t.Context(), "notify-keyspace-events", "") // another epoch: what was before is not compared with what comes
	await(t, store, "it is deaf", func(s dedup.StoreStats, err error) bool { return err == nil && !s.Events.Listening })
	if c, ok := trail.EventsAt(moments[3]); ok {
		t.Errorf("it compares across a gap: %+v", c)
	}
}
