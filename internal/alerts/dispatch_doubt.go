package alerts

import (
	"sync"
	"time"
)

// A Doubt says whether a channel has what it counts as told.
type Doubt uint8

const (
	// Certain: it was taken, or waits in the outbox.
	Certain Doubt = iota
	// Unsure: it may never have arrived. It is repeated when it is due again, as something that the channel knows.
	Unsure
	// Lost: it was the first of an alert, and given up. The channel knows nothing of the alert, and is told that it fired when a
	// repeat would be due, or at once when it gets worse.
	Lost
)

// doubtRepeat is after which time what is in doubt is told again where nothing else is repeated. A channel that refuses every message
// for good gets one of each alert in this time.
const doubtRepeat = time.Hour

// Doubts returns what becomes of what the channel counts as told by this message when the message is given up, by alert. One that may have
// been delivered is in doubt as a whole: what it told first must not be told as new once more. What is said again and again is in none.
func (n Notification) Doubts() map[Key]Doubt {
	if n.Kind == NotifyStanding {
		return nil
	}
	first := Lost
	if n.Repeated {
		first = Unsure
	}
	doubts := map[Key]Doubt{}
	for _, a := range n.Alerts {
		doubts[a.Key] = Unsure
		if a.Edge == EdgeFired {
			doubts[a.Key] = first
		}
	}
	for _, k := range n.Counted {
		doubts[k] = first // nobody has read its name
	}
	return doubts
}

// givenUp are messages that were given up since the plan before.
type givenUp struct {
	mu       sync.Mutex
	messages []Notification
}

func (g *givenUp) add(n Notification) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.messages = append(g.messages, n)
}

func (g *givenUp) take() []Notification {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.messages
	g.messages = nil
	return taken
}

// GaveUp tells the dispatcher of a message that was given up: what it told is told again, as Doubt says. Repeated has to be true where it
// may have arrived. It may be called at any time. Whoever keeps the messages keeps the same for the next start.
func (d *Dispatcher) GaveUp(n Notification) { d.lost.add(n) }

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
