package redis_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
)

// TestQuestionsLessMissesAreTheHitsOfConsumers counts hits of consumers that look for their marker before the work, while we ask for markers
// that are not there, and strangers ask for keys of their own.
func TestQuestionsLessMissesAreTheHitsOfConsumers(t *testing.T) {
	server, rdb := markerstest.StartRedis(t, "--notify-keyspace-events", "K$gxem")
	store := listening(t, "redis-flag", server.URL(), nil)
	ctx := t.Context()
	var asked, hits int64
	for i := range 400 {
		key := fmt.Sprintf("msg:processed:m%d", i*2/3) // each second one comes twice
		asked++
		if n, err := rdb.Exists(ctx, key).Result(); err != nil {
			t.Fatal(err)
		} else if n > 0 {
			hits++
			continue
		}
		if err := rdb.Set(ctx, key, "1", time.Duration(20+i%3*20_000)*time.Millisecond).Err(); err != nil { // some expire under our eyes
			t.Fatal(err)
		}
		switch {
		case i%10 == 0:
			if _, err := store.Find(ctx, []string{fmt.Sprint("absent", i), fmt.Sprint("absent", i, "b"), fmt.Sprint("m", i)}); err != nil {
				t.Fatal(err)
			}
		case i%10 == 5:
			_ = rdb.Get(ctx, "other:"+fmt.Sprint(i)).Err()
		}
	}
	var last dedup.StoreEvents
	defer func() {
		if t.Failed() && last.Asked != nil {
			t.Logf("%d asked, %d hits; the store: %d asked, %d missed, ours %v", asked, hits, *last.Asked, *last.Missed, last.OwnMissed)
		}
	}()
	await(t, store, "the hits are told exactly", func(s dedup.StoreStats, err error) bool {
		if err != nil || s.Events == nil || s.Events.Missed == nil || s.Events.Asked == nil {
			return false
		}
		last = *s.Events
		low, high := *last.Asked-*last.Missed+last.OwnMissed[0], *last.Asked-*last.Missed+last.OwnMissed[1]
		return *last.Asked == asked && low == hits && high == hits
	})
	if hits < 50 || last.OwnMissed[0] < 40 {
		t.Errorf("the test itself: %d hits, ours missed %v", hits, last.OwnMissed)
	}
}

func TestWithoutTheirClassMissesAreNotTold(t *testing.T) {
	server, rdb := markerstest.StartRedis(t, notifying...)
	store := listening(t, "redis-flag", server.URL(), nil)
	if err := rdb.Exists(t.Context(), "msg:processed:m").Err(); err != nil {
		t.Fatal(err)
	}
	stats, err := store.Stats(t.Context())
	if err != nil || stats.Events.Missed != nil {
		t.Errorf("%v, %+v", err, stats.Events)
	}
}

// TestMissesThatNobodyWasToldOfAreCutOut: a question whose miss was not told of would look like a hit.
func TestMissesThatNobodyWasToldOfAreCutOut(t *testing.T) {
	t.Parallel()
	const unseen = 200
	ask := func(t *testing.T, rdb *redis.Client) {
		for i := range unseen {
			if err := rdb.Exists(t.Context(), fmt.Sprint("msg:processed:unseen", i)).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	set := func(t *testing.T, rdb *redis.Client, flags string) {
		if err := rdb.ConfigSet(t.Context(), "notify-keyspace-events", flags).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args    []string
		disturb func(t *testing.T, rdb *redis.Client)
		told    bool
	}{
		"their class is off for a moment": {nil, func(t *testing.T, rdb *redis.Client) { set(t, rdb, "K$gxe"); ask(t, rdb); set(t, rdb, "K$gxem") }, true},
		"their class is off from then on": {nil, func(t *testing.T, rdb *redis.Client) { set(t, rdb, "K$gxe"); ask(t, rdb) }, false},
		"the server's buffer for us overflows": {[]string{"--client-output-buffer-limit", "pubsub", "32kb", "0", "0"}, func(t *testing.T, rdb *redis.Client) {
			const script = `for i = 1, 20000 do redis.call('exists', 'msg:processed:burst-' .. i) end`
			if err := rdb.Eval(t.Context(), script, nil).Err(); err != nil && !errors.Is(err, redis.Nil) {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, rdb := markerstest.StartRedis(t, append([]string{"--notify-keyspace-events", "K$gxem"}, c.args...)...)
			store := listening(t, "redis-flag", server.URL(), nil)
			if err := rdb.Exists(t.Context(), "msg:processed:absent").Err(); err != nil {
				t.Fatal(err)
			}
			first := await(t, store, "a miss is told", func(s dedup.StoreStats, err error) bool {
				return err == nil && s.Events.Missed != nil && s.Events.Asked != nil && *s.Events.Missed > 0
			}).Events
			c.disturb(t, rdb)
			await(t, store, "what was told before is not continued", func(s dedup.StoreStats, err error) bool {
				if err != nil {
					return false
				}
				e := s.Events
				if e.Epoch == first.Epoch && e.Missed != nil && e.Asked != nil {
					// Misses and questions are of one moment: none of them was a hit.
					if hits := *e.Asked - *first.Asked - (*e.Missed - *first.Missed); hits > e.OwnMissed[1] {
						t.Fatalf("%d questions met nothing and look like hits: %+v", hits, e)
					}
					return false
				}
				return e.Epoch > first.Epoch && (e.Missed != nil) == c.told
			})
		})
	}
}
