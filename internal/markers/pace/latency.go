package pace

import (
	"slices"
	"sync"
	"time"
)

// Latencies remembers the last round trips of PING.
type Latencies struct {
	mu   sync.Mutex
	ring [256]time.Duration
	n    int
}

// Add notes a round trip.
func (l *Latencies) Add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring[l.n%len(l.ring)] = d
	l.n++
}

// sorted returns the remembered round trips, shortest first.
func (l *Latencies) sorted() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.ring[:min(l.n, len(l.ring))])
	slices.Sort(all)
	return all
}

// P99 returns the 99th percentile by nearest rank, zero without any round trip.
func (l *Latencies) P99() time.Duration {
	all := l.sorted()
	if len(all) == 0 {
		return 0
	}
	return all[(len(all)*99+99)/100-1]
}

// Least returns the shortest round trip: what the network and both ends need when nobody waits.
func (l *Latencies) Least() time.Duration {
	all := l.sorted()
	if len(all) == 0 {
		return 0
	}
	return all[0]
}
