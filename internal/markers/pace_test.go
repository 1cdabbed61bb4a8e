package markers

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
				p := newPace(c.rules)
				p.idle = c.idle
				time.Sleep(10 * time.Millisecond)
				p.spent(10*time.Millisecond, 500, 10_000)
				start := time.Now()
				if err := p.rest(t.Context()); err != nil {
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
	p := newPace(Sweep{Duty: 0.05, Count: 500})
	for range 10 {
		p.probed(9*time.Millisecond, time.Millisecond)
	}
	if pause, why := p.owed(time.Now()); p.count != leastCount || pause < 500*time.Millisecond || !strings.Contains(why, "slower") {
		t.Errorf("count %d, pause %s, because %q", p.count, pause, why)
	}
	for range 20 {
		p.probed(time.Millisecond, time.Millisecond)
	}
	if p.count != 500 || p.slow != "" {
		t.Errorf("afterwards: count %d, %q", p.count, p.slow)
	}
	p.served(work{scans: 10, scanTime: 30 * time.Millisecond}, work{})
	if p.count != 250 {
		t.Errorf("after scans of 3 ms: count %d", p.count)
	}
}

func TestTheServersOwnAccountShortensThePausesOfASlowNetwork(t *testing.T) {
	p := newPace(Sweep{Duty: 0.05, Count: 500})
	p.spent(100*time.Millisecond, 0, 0)
	p.served(work{time: time.Second + 10*time.Millisecond}, work{time: time.Second})
	p.busy = 0
	p.spent(100*time.Millisecond, 0, 0)
	if p.busy != 20*time.Millisecond {
		t.Errorf("a fifth of the time was the server's, %s counted", p.busy)
	}
	p.served(work{time: time.Hour}, work{})
	p.busy = 0
	if p.spent(100*time.Millisecond, 0, 0); p.busy != 100*time.Millisecond {
		t.Errorf("more than all was counted: %s", p.busy)
	}
	p.served(work{}, work{time: time.Hour})
	if p.factor != 1 {
		t.Errorf("counters that restart changed the factor to %v", p.factor)
	}
}

func TestThePercentileOfThePingsIsByNearestRank(t *testing.T) {
	var l latencies
	if l.p99() != 0 || l.least() != 0 {
		t.Error("latency without any ping")
	}
	for i := range 1000 {
		l.add(time.Duration(i+1) * time.Millisecond)
	}
	// The last 256 are kept: 745 to 1000.
	if l.p99() != 998*time.Millisecond || l.least() != 745*time.Millisecond {
		t.Errorf("p99 %s, least %s", l.p99(), l.least())
	}
}

func TestRecentTellsEachKeyOnceWithinItsReach(t *testing.T) {
	r := newRecent()
	key := func(i int) string { return strings.Repeat("k", i%7) + time.Duration(i).String() }
	for i := range 4 * generation {
		if !r.add(key(i)) {
			t.Fatalf("key %d was new", i)
		}
		if back := i - generation + 1; back >= 0 && r.add(key(back)) {
			t.Fatalf("key %d was seen %d keys ago", back, generation-1)
		}
	}
}

func TestInfoIsReadWithoutInventingNumbers(t *testing.T) {
	h := parseInfo("# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.1.0\r\nused_memory:12\r\nmaxmemory:0\r\nevicted_keys:x\r\nrole:master\r\n").health()
	if h.Version != "valkey 8.1.0" || *h.MemoryUsed != 12 || h.MemoryMax != nil || h.EvictedKeys != nil || h.ConnectedClients != nil {
		t.Errorf("%+v", h)
	}
}
