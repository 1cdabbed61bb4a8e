package collector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestASourceThatIsStirredReadsOutOfTurnAndKeepsItsTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, turned := 0, 0
		stir := make(chan struct{}, 1)
		s := &source{name: "store s", kind: "store", interval: time.Minute, timeout: time.Second, stirred: stir,
			turned: func() { turned++ },
			read:   func(context.Context) error { reads++; return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.run(ctx) }()
		wait(t, 10*time.Second)
		if reads != 1 || turned != 1 {
			t.Fatalf("%d readings, %d turns", reads, turned)
		}
		stir <- struct{}{}
		synctest.Wait()
		if reads != 2 || turned != 2 {
			t.Errorf("%d readings and %d turns after it was stirred", reads, turned)
		}
		wait(t, 5*time.Minute)
		if reads != 2+5 || turned != 2 {
			t.Errorf("%d readings and %d turns after five intervals more", reads, turned)
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
