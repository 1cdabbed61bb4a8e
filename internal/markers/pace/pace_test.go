package pace

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheWalkKeepsToItsShareOfTheServersTime(t *testing.T) {
	for name, c := range map[string]struct {
		rules Sweep
		idle  time.Duration
		want  time.Duration
	}{
		"5 % pauses 19 times as long":          {Sweep{Duty: 0.05, Count: 500}, 0, 190 * time.Millisecond},
		"the network's share is not counted":   {Sweep{Duty: 0.05, Count: 500}, 6 * time.Millisecond, 76 * time.Millisecond},
		"but never more than three quarters":   {Sweep{Duty: 0.05, Count: 500}, time.Second, 47500 * time.Microsecond},
		"a ceiling of keys can be longer":      {Sweep{Duty: 0.5, Count: 500, MaxKeysPerSecond: 1000}, 0, 490 * time.Millisecond},
		"a ceiling of bytes can be longer yet": {Sweep{Duty: 0.5, Count: 500, MaxBytesPerSecond: 10_000}, 0, 990 * time.Millisecond},
		"100 % without ceilings never pauses":  {Sweep{Duty: 1, Count: 500}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New(c.rules)
				p.Idle = c.idle
				time.Sleep(10 * time.Millisecond)
				p.Spent(10*time.Millisecond, 500, 10_000)
				start := time.Now()
				if err := p.Rest(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); (got - c.want).Abs() > time.Microsecond {
					t.Errorf("paused %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestASlowStoreIsWalkedInSmallerStepsUntilItIsFastAgain(t *testing.T) {
	p := New(Sweep{Duty: 0.05, Count: 500})
	for range 10 {
		p.Probed(9*time.Millisecond, time.Millisecond)
	}
	if pause, why := p.Owed(time.Now()); p.Count != leastCount || pause < 500*time.Millisecond || !strings.Contains(why, "slower") {
		t.Errorf("count %d, pause %s, because %q", p.Count, pause, why)
	}
	for range 20 {
		p.Probed(time.Millisecond, time.Millisecond)
	}
	if p.Count != 500 || p.slow != "" {
		t.Errorf("afterwards: count %d, %q", p.Count, p.slow)
	}
	p.Served(Work{Scans: 10, ScanTime: 30 * time.Millisecond}, Work{})
	if p.Count != 250 {
		t.Errorf("after scans of 3 ms: count %d", p.Count)
	}
}

func TestTheServersOwnAccountShortensThePausesOfASlowNetwork(t *testing.T) {
	p := New(Sweep{Duty: 0.05, Count: 500})
	p.Spent(100*time.Millisecond, 0, 0)
	p.Served(Work{Time: time.Second + 10*time.Millisecond}, Work{Time: time.Second})
	p.busy = 0
	p.Spent(100*time.Millisecond, 0, 0)
	if p.busy != 20*time.Millisecond {
		t.Errorf("a fifth of the time was the server's, %s counted", p.busy)
	}
	p.Served(Work{Time: time.Hour}, Work{})
	p.busy = 0
	if p.Spent(100*time.Millisecond, 0, 0); p.busy != 100*time.Millisecond {
		t.Errorf("more than all was counted: %s", p.busy)
	}
	p.Served(Work{}, Work{Time: time.Hour})
	if p.factor != 1 {
		t.Errorf("counters that restart changed the factor to %v", p.factor)
	}
}

func TestThePercentileOfThePingsIsByNearestRank(t *testing.T) {
	var l Latencies
	if l.P99() != 0 || l.Least() != 0 {
		t.Error("latency without any ping")
	}
	for i := range 1000 {
		l.Add(time.Duration(i+1) * time.Millisecond)
	}
	// The last 256 are kept: 745 to 1000.
	if l.P99() != 998*time.Millisecond || l.Least() != 745*time.Millisecond {
		t.Errorf("p99 %s, least %s", l.P99(), l.Least())
	}
}
