package sample

import (
	"testing"
	"time"
)

// TestCountersAreOlderWhereTheBrokerTookLongToCollectThem: it caches them for five times as long, whoever reads them meanwhile.
func TestCountersAreOlderWhereTheBrokerTookLongToCollectThem(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		took map[int]time.Duration
		want int
	}{
		"as usual":                   {nil, 60},
		"a little slow":              {map[int]time.Duration{50: 190 * time.Millisecond, 60: 200 * time.Millisecond}, 60},
		"slow then":                  {map[int]time.Duration{60: 800 * time.Millisecond}, 65},
		"slow just before":           {map[int]time.Duration{55: 1500 * time.Millisecond}, 65},
		"slow long before":           {map[int]time.Duration{40: 1500 * time.Millisecond}, 60},
		"slow for as long as we try": {map[int]time.Duration{55: 3 * time.Second, 60: 3 * time.Second, 65: 3 * time.Second}, 75},
	} {
		var frames Frames
		for s := 0; s <= 120; s += 5 {
			at := began.Add(time.Duration(s) * time.Second)
			frames = append(frames, Frame{Began: at, Ended: at.Add(max(20*time.Millisecond, c.took[s]))})
		}
		got, ok := frames.Counted(began.Add(53 * time.Second))
		if want := began.Add(time.Duration(c.want) * time.Second); !ok || !got.Began.Equal(want) {
			t.Errorf("%s: %v, want that of second %d", name, got, c.want)
		}
	}
}
