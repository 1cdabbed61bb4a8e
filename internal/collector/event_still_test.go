package collector

import (
	"sort"
	"testing"
	"time"
)

// TestTheWindowOfStoreEventsGoesAlongWithTheTime reads a shop of steady traffic again and again: the end of the window must not wait for a
// calmer moment, nor lie further back than the lags of the broker explain.
func TestTheWindowOfStoreEventsGoesAlongWithTheTime(t *testing.T) {
	for name, tt := range map[string]struct{ interval, lag time.Duration }{
		"read each 5 s":  {5 * time.Second, 40 * time.Second},
		"read each 15 s": {15 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			shop := runSim(simTraffic{seed: 1, rate: 20, length: 30 * time.Minute, resend: 0.02, fail: 0.01, lostAck: 0.002, quietBefore: time.Minute,
				quietAfter: time.Minute, passAt: 40 * time.Second, interval: tt.interval, channels: 2, live: 1})
			all := heard(shop, simEars{interval: tt.interval}, 15*time.Minute)
			var moved time.Time
			for k := len(all.Frames) / 2; k < len(all.Frames); k++ {
				s, now := all, all.Frames[k].Ended
				s.Frames = all.Frames[:k+1]
				s.Readings = all.Readings[:sort.Search(len(all.Readings), func(i int) bool { return all.Readings[i].At.After(now) })]
				at := fromEvents(s).Rate.At
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
