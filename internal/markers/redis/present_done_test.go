package redis_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/lab/markerstest"
)

// TestPresentMarkersThatAreWrittenAfterTheWorkAreCompletions: without their completions all acks would pass for those of duplicates.
func TestPresentMarkersThatAreWrittenAfterTheWorkAreCompletions(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillShape(t, rdb, "", "ok") // 12 keys that live for a day
	for lines, want := range map[string]int64{
		`preset: redis-flag, states: {present: [any]}`:               12,
		`preset: redis-flag, states: {done: [], present: [any]}`:     12,
		`preset: redis-flag, states: {done: [], present: [ok, yes]}`: 12,
		`preset: redis-presence, on_inflight: nack`:                  0,
	} {
		cfg, err := markerstest.Decode(t, `{name: a, match: "app:seen:*", ttl: {done: 24h}, redis: {url: "`+server.URL()+`"}, `+lines+"}")
		if err == nil {
			err = kinds.Validate(cfg)
		}
		if err != nil {
			t.Fatalf("%s: %v", lines, err)
		}
		pass := markerstest.MustPass(t, markerstest.OpenStore(t, cfg))
		now := time.Now().Add(pass.ClockOffset)
		if n := pass.Completions.Between(now.Add(-time.Minute), now.Add(2*time.Second)); n != want || pass.Matched != 12 {
			t.Errorf("%s: %d completions of %d markers, want %d", lines, n, pass.Matched, want)
		}
	}
}
