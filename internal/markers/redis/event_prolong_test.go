package redis_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// TestClaimsThatAreProlongedAreNoCompletions: consumers write their claim again with SET XX while they work. To the notifications that is a
// completion, until the store has looked at one; from then on everything is exact.
func TestClaimsThatAreProlongedAreNoCompletions(t *testing.T) {
	t.Parallel()
	for name, done := range map[string][]any{
		"what is left of a done marker's life tells its state": {"done", "ex", 3600},
		"its value alone tells it":                             {"done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, rdb := markerstest.StartRedis(t, notifying...)
			store := listening(t, "redis-text-status", server.URL(), func(c *markers.Config) {
				c.TTL.Processing, c.TTL.Done = 30*time.Second, time.Hour
			})
			claim := func(id string) { do(t, rdb, "set", "msg:"+id, "processing", "nx", "ex", 30) }
			prolong := func(id string) { do(t, rdb, "set", "msg:"+id, "processing", "xx", "ex", 30) }
			complete := func(id string) { do(t, rdb, append([]any{"set", "msg:" + id}, done...)...) }

			claim("of before")
			claim("second")
			// All at once, so that nobody looks in between: the third write looks like one of a duplicate that renews a done marker.
			_, err := rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
				p.SetNX(t.Context(), "msg:first", "processing", 30*time.Second)
				p.SetXX(t.Context(), "msg:first", "processing", 30*time.Second)
				p.SetXX(t.Context(), "msg:first", "processing", 30*time.Second)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			await(t, store, "it shows that claims are prolonged", func(s dedup.StoreStats, err error) bool {
				return err == nil && s.Events.Epoch == 2 && s.Events.Listening
			})
			var mu sync.Mutex
			completed := 0
			stop, _ := store.(interface {
				Follow(func(dedup.StoreEvent)) (func() bool, bool)
			}).Follow(func(e dedup.StoreEvent) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == dedup.MarkerCompleted {
					completed++
				}
			})
			complete("of before")
			prolong("second") // its claim is of before, too
			for i := range 20 {
				id := fmt.Sprint(i)
				claim(id)
				prolong(id)
				prolong(id)
				switch {
				case i < 3:
					do(t, rdb, "del", "msg:"+id)
				case i < 17:
					complete(id)
				}
			}
			got := awaitCounts(t, store, 2, eventCounts{Claims: 21, Completions: 15, Failures: 3, InFlight: 4})
			// Any of these claims may be older than the epoch, as far as the store can tell so soon.
			if got.Work.Count() != 0 || got.Unclear != 0 {
				t.Errorf("%d times of work are told; %d completions are unclear", got.Work.Count(), got.Unclear)
			}
			if !stop() {
				t.Error("something was missed without a gap")
			}
			if completed != 14 {
				t.Errorf("%d completions were handed on, want 14", completed)
			}
		})
	}
}
