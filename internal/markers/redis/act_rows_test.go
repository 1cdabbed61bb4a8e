package redis_test

import (
	"reflect"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// TestEveryRowOfRedisIsClearedAndRestoredAsItWasLookedAt goes the whole way of an operator: look, clear, look, undo, look.
func TestEveryRowOfRedisIsClearedAndRestoredAsItWasLookedAt(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	for i, row := range redisRows(time.Time{}) {
		t.Run(row.name, func(t *testing.T) {
			do(t, rdb, "flushdb")
			row, now := rowNow(t, rdb, i)
			expires := int64(dedup.NoExpiry)
			if row.ttl > 0 {
				expires = now.Add(row.ttl - row.age).UnixMilli()
			}
			write(t, rdb, row, expires)
			cfg := markerstest.Config(t, row.preset, server.URL())
			if row.change != nil {
				row.change(&cfg)
			}
			store, a := markerstest.OpenStore(t, cfg), actorOf(t, cfg, server.URL())
			look := func() *dedup.Sighting {
				found, err := store.(markers.Reader).Look(t.Context(), []string{row.key})
				if err != nil {
					t.Fatal(err)
				}
				return found[0]
			}
			seen := look()
			if seen.State == dedup.StateUnknown {
				want(t, a.Clear(t.Context(), *seen, true, markerstest.KeepNothing), dedup.Refused, "cannot be decoded")
				return
			}
			var image dedup.Sighting
			got := a.Clear(t.Context(), *seen, true, func(i dedup.Sighting) error { image = i; return nil })
			want(t, got, dedup.Cleared, "")
			if left := look(); left != nil {
				t.Fatalf("left %+v", left)
			}
			want(t, a.Restore(t.Context(), image), dedup.Restored, "")
			again := look()
			again.At, again.Clock = seen.At, seen.Clock
			if !reflect.DeepEqual(again, seen) {
				t.Errorf("restored %+v\nwas      %+v", again, seen)
			}
		})
	}
}
