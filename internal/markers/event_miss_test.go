package markers_test

import (
	"fmt"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/markerstest"
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
