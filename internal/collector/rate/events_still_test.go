package rate

import (
	"sort"
	"testing"
	"time"

	"dedup-dashboard/lab/shoptest"
)

// TestTheWindowOfStoreEventsGoesAlongWithTheTime reads a shop of steady traffic again and again: the end of the window must not wait for a
// calmer moment, nor lie further back than the lags of the broker explain.
func TestTheWindowOfStoreEventsGoesAlongWithTheTime(t *testing.T) {
	for name, tt := range map[string]struct{ interval, lag time.Duration }{
		"read each 5 s":  {5 * time.Second, 40 * time.Second},
		"read each 15 s": {15 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			shop := shoptest.Run(shoptest.Traffic{Seed: 1, Rate: 20, Length: 30 * time.Minute, Resend: 0.02, Fail: 0.01, LostAck: 0.002, QuietBefore: time.Minute,
				QuietAfter: time.Minute, PassAt: 40 * time.Second, Interval: tt.interval, Channels: 2, Live: 1})
			all := heard(shop, shoptest.Listener{Interval: tt.interval}, 15*time.Minute)
			var moved time.Time
			for k := len(all.Frames) / 2; k < len(all.Frames); k++ {
				s, now := all, all.Frames[k].Ended
				s.Frames = all.Frames[:k+1]
				s.Readings = all.Readings[:sort.Search(len(all.Readings), func(i int) bool { return all.Readings[i].At.After(now) })]
				at := s.Estimate().Rate.At
				if lag := now.Sub(at); lag > tt.lag {
					t.Fatalf("after %s the window ends %s ago", now.Sub(all.Frames[0].Ended), lag)
				}
				if at.Before(moved) {
					t.Fatalf("the window went back by %s", moved.Sub(at))
				}
				moved = at
			}
		})
	}
}
