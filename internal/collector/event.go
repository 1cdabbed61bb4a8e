package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// The bounds on remembered events.
const (
	eventsKept = 200
	eventsAge  = 24 * time.Hour
	// eventsApart is how soon an event of a kind that comes in bursts may be followed by another.
	eventsApart = time.Minute
	// closuresApart is the span over which closed channels are one event.
	closuresApart = 5 * time.Minute
)

// An eventLog keeps what happened within a day, oldest first.
type eventLog struct{ events []dedup.Event }

func (l *eventLog) add(at time.Time, kind, text string) {
	l.events = append(l.events, dedup.Event{At: at, Kind: kind, Text: text})
	drop := max(0, len(l.events)-eventsKept)
	for drop < len(l.events) && at.Sub(l.events[drop].At) > eventsAge {
		drop++
	}
	l.events = slices.Delete(l.events, 0, drop)
}

// amend changes the text of the newest event of a kind.
func (l *eventLog) amend(kind, text string) {
	for i := len(l.events) - 1; i >= 0; i-- {
		if l.events[i].Kind == kind {
			l.events[i].Text = text
			return
		}
	}
}

// addSpaced adds an event unless one of its kind was added less than eventsApart ago.
func (l *eventLog) addSpaced(at time.Time, kind, text string) {
	for i := len(l.events) - 1; i >= 0; i-- {
		e := l.events[i]
		if apart := at.Sub(e.At); apart >= eventsApart || apart < 0 {
			break
		}
		if e.Kind == kind {
			return
		}
	}
	l.add(at, kind, text)
}

// mergeEvents returns the newest events of several logs, oldest first. The result is a copy.
func mergeEvents(logs ...*eventLog) []dedup.Event {
	n := 0
	for _, l := range logs {
		if l != nil {
			n += len(l.events)
		}
	}
	if n == 0 {
		return nil
	}
	all := make([]dedup.Event, 0, n)
	for _, l := range logs {
		if l != nil {
			all = append(all, l.events...)
		}
	}
	slices.SortStableFunc(all, func(a, b dedup.Event) int { return a.At.Compare(b.At) })
	if len(all) > eventsKept {
		all = slices.Clone(all[len(all)-eventsKept:])
	}
	return all
}
