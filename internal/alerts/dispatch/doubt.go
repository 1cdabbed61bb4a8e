package dispatch

import (
	"sync"
	"time"

	"dedup-dashboard/internal/alerts"
)

// doubtRepeat is after which time what is in doubt is told again where nothing else is repeated. A channel that refuses every message
// for good gets one of each alert in this time.
const doubtRepeat = time.Hour

// givenUp are messages that were given up since the plan before.
type givenUp struct {
	mu       sync.Mutex
	messages []alerts.Notification
}

func (g *givenUp) add(n alerts.Notification) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.messages = append(g.messages, n)
}

func (g *givenUp) take() []alerts.Notification {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.messages
	g.messages = nil
	return taken
}

// GaveUp tells the dispatcher of a message that was given up: what it told is told again, as Doubt says. Repeated has to be true where it
// may have arrived. It may be called at any time. Whoever keeps the messages keeps the same for the next start.
func (d *Dispatcher) GaveUp(n alerts.Notification) { d.lost.add(n) }

// doubt notes what became doubtful since the plan before. What was told anew since then, by a later message, is not.
func (d *Dispatcher) doubt() {
	for _, n := range d.lost.take() {
		if d.cfg.Standing[n.Channel].Every > 0 {
			continue // what stands is told again in any case
		}
		for key, doubt := range n.Doubts() {
			k := sentKey{n.Channel, key}
			if s, ok := d.told[k]; ok && keptMillis(s.At) == keptMillis(n.At) {
				s.Doubt = doubt
				d.told[k] = s
			}
		}
	}
}
