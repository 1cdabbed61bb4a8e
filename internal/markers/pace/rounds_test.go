package pace

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestAPassBeginsAgainAndOnlyAChangeOfTheStoreForgetsTheLastOne(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		keeps bool
		wait  time.Duration
	}{
		"the store became another": {fmt.Errorf("%w: it restarted", ErrChanged), false, 0},
		"markers moved":            {fmt.Errorf("%w: it restarted", ErrMoved), true, LeastRetry}, // more may follow
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				r := &Rounds{Log: slog.New(slog.DiscardHandler), Last: &dedup.Pass{}}
				var failed time.Time
				r.Walk(ctx, time.Minute, func(func(dedup.Progress)) Walk {
					return Walk{Run: func(context.Context) error {
						if failed.IsZero() {
							failed = time.Now()
							return c.err
						}
						if took := time.Since(failed); took != c.wait {
							t.Errorf("it began again after %s, want %s", took, c.wait)
						}
						if (r.Last != nil) != c.keeps || r.Progress.Waiting != "it restarted: the pass began again" || r.Fault != nil {
							t.Errorf("%+v", r)
						}
						cancel()
						return nil
					}}
				}, func(err error) error { return err })
			})
		})
	}
}
