package source

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestASourceThatIsStirredReadsOutOfTurnAndKeepsItsTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads, turned atomic.Int64
		stir := make(chan struct{}, 1)
		s := &Source{Name: "store s", Kind: "store", Interval: time.Minute, Timeout: time.Second, Stirred: stir,
			Turned: func() { turned.Add(1) },
			Read:   func(context.Context) error { reads.Add(1); return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		wait(t, 10*time.Second)
		if reads.Load() != 1 || turned.Load() != 1 {
			t.Fatalf("%d readings, %d turns", reads.Load(), turned.Load())
		}
		stir <- struct{}{}
		synctest.Wait()
		if reads.Load() != 2 || turned.Load() != 2 {
			t.Errorf("%d readings and %d turns after it was stirred", reads.Load(), turned.Load())
		}
		wait(t, 5*time.Minute)
		if reads.Load() != 2+5 || turned.Load() != 2 {
			t.Errorf("%d readings and %d turns after five intervals more", reads.Load(), turned.Load())
		}
		cancel()
		<-done
	})
}

// wait lets the time of the bubble pass.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	synctest.Wait()
}
