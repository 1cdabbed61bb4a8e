package source

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadingsThatSwayKeepNoBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sway = 0.2
		ctx, stop := context.WithCancel(t.Context())
		var at []time.Time
		s := &Source{Name: "totals main", Interval: time.Second, Timeout: time.Second, Sway: sway, Read: func(context.Context) error {
			if at = append(at, time.Now()); len(at) == 200 {
				stop()
			}
			return nil
		}}
		s.Run(ctx)
		phases := make(map[int]bool)
		for i, now := range at[2:] {
			if gap := now.Sub(at[i+1]).Seconds(); gap < 0.8-1e-6 || gap > 1.2+1e-6 {
				t.Fatalf("a gap of %v s", gap)
			}
			phases[now.Nanosecond()/int(100*time.Millisecond)] = true
		}
		if mean := at[199].Sub(at[1]).Seconds() / 198; mean < 0.95 || mean > 1.05 {
			t.Errorf("the mean gap is %v s, want 1", mean)
		}
		if len(phases) != 10 {
			t.Errorf("200 readings fell into %d tenths of a second, want all ten", len(phases))
		}
	})
}
