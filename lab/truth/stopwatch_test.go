package truth

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// slowStore answers each command after a while, which depends on its name.
func slowStore(took map[string]time.Duration) redis.ProcessHook {
	return timedCommands{}.ProcessHook(func(_ context.Context, c redis.Cmder) error {
		time.Sleep(took[c.Name()])
		return nil
	})
}

func TestAStopwatchBoundsTheTimeBetweenClaimAndMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		do := slowStore(map[string]time.Duration{"get": 1 * ms, "setnx": 2 * ms, "expire": 4 * ms, "set": 8 * ms, "del": 16 * ms})
		var watch stopwatch
		ctx := watch.within(t.Context())
		for _, name := range []string{"get", "SETNX", "expire", "set", "expire", "del"} {
			if err := do(ctx, redis.NewCmd(ctx, name)); err != nil {
				t.Fatal(err)
			}
		}
		if least, most := watch.bounds(time.Second); least != 4*ms || most != 14*ms {
			t.Errorf("the store sees 4 to 14 ms, got %s to %s", least, most)
		}
	})
}

func TestWhatWasNotTimedLiesBetweenTheWorkAndAllOfTheHandling(t *testing.T) {
	watch := stopwatch{work: time.Millisecond}
	if watchOf(watch.within(t.Context())) != &watch || watchOf(t.Context()) != nil {
		t.Error("a context has a stopwatch of another one")
	}
	if least, most := watch.bounds(time.Second); least != time.Millisecond || most != time.Second {
		t.Errorf("got %s to %s", least, most)
	}
	if err := slowStore(nil)(t.Context(), redis.NewCmd(t.Context(), "set")); err != nil {
		t.Errorf("a command outside of a handling: %v", err)
	}
}
