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

func (l *eventLog) add(at time.Time, kind, text string) { l.addCounted(at, kind, 1, text) }

// addCounted adds an event that tells of n happenings.
func (l *eventLog) addCounted(at time.Time, kind string, n int64, text string) {
	l.events = append(l.events, dedup.Event{At: at, Kind: kind, Text: text, Count: n})
	drop := max(0, len(l.events)-eventsKept)
	for drop < len(l.events) && at.Sub(l.events[drop].At) > eventsAge {
		drop++
	}
	l.events = slices.Delete(l.events, 0, drop)
}

// A burst counts what comes in numbers, such as closed channels, so that it neither fills the log nor changes what was told.
// Its beginning is told at once, and the rest when its span is over.
type burst struct {
	from, last time.Time
	more       int64
}

// open reports whether the burst is under way at a time. A clock that was set back ends it.
func (b *burst) open(at time.Time) bool {
	apart := at.Sub(b.from)
	return !b.from.IsZero() && apart >= 0 && apart < closuresApart
}

// close ends a burst whose span is over, and returns what it still has to tell: how many more came, and the last of them.
func (b *burst) close(at time.Time) (more int64, from, last time.Time) {
	if b.from.IsZero() || b.open(at) {
		return 0, time.Time{}, time.Time{}
	}
	more, from, last = b.more, b.from, b.last
	*b = burst{}
	return more, from, last
}

// add counts n at a time, and reports whether they begin a burst and are to be told now.
func (b *burst) add(n int64, at time.Time) bool {
	if !b.open(at) {
		*b = burst{from: at, last: at}
		return true
	}
	b.more, b.last = b.more+n, at
	return false
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
