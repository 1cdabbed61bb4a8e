package sample

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// LogKept and LogAge bound the events that are remembered, and their age.
	LogKept = 200
	LogAge  = 24 * time.Hour
	// logApart is how soon an event of a kind that comes in bursts may be followed by another.
	logApart = time.Minute
	// closuresApart is the span over which closed channels are one event.
	closuresApart = 5 * time.Minute
)

// An EventLog keeps what happened within a day, oldest first.
type EventLog struct{ Events []dedup.Event }

// Add adds an event that tells of one happening.
func (l *EventLog) Add(at time.Time, kind, text string) { l.AddCounted(at, kind, 1, text) }

// AddCounted adds an event that tells of n happenings.
func (l *EventLog) AddCounted(at time.Time, kind string, n int64, text string) {
	l.Events = append(l.Events, dedup.Event{At: at, Kind: kind, Text: text, Count: n})
	drop := max(0, len(l.Events)-LogKept)
	for drop < len(l.Events) && at.Sub(l.Events[drop].At) > LogAge {
		drop++
	}
	l.Events = slices.Delete(l.Events, 0, drop)
}

// A Burst counts what comes in numbers, such as closed channels, so that it neither fills the log nor changes what was told.
// Its beginning is told at once, and the rest when its span is over.
type Burst struct {
	from, last time.Time
	more       int64
}

// open reports whether the burst is under way at a time. A clock that was set back ends it.
func (b *Burst) open(at time.Time) bool {
	apart := at.Sub(b.from)
	return !b.from.IsZero() && apart >= 0 && apart < closuresApart
}

// Close ends a burst whose span is over, and returns what it still has to tell: how many more came, and the last of them.
func (b *Burst) Close(at time.Time) (more int64, from, last time.Time) {
	if b.from.IsZero() || b.open(at) {
		return 0, time.Time{}, time.Time{}
	}
	more, from, last = b.more, b.from, b.last
	*b = Burst{}
	return more, from, last
}

// Add counts n at a time, and reports whether they begin a burst and are to be told now.
func (b *Burst) Add(n int64, at time.Time) bool {
	if !b.open(at) {
		*b = Burst{from: at, last: at}
		return true
	}
	b.more, b.last = b.more+n, at
	return false
}

// AddSpaced adds an event unless one of its kind was added less than logApart ago.
func (l *EventLog) AddSpaced(at time.Time, kind, text string) {
	for i := len(l.Events) - 1; i >= 0; i-- {
		e := l.Events[i]
		if apart := at.Sub(e.At); apart >= logApart || apart < 0 {
			break
		}
		if e.Kind == kind {
			return
		}
	}
	l.Add(at, kind, text)
}

// MergeEvents returns the newest events of several logs, oldest first. The result is a copy.
func MergeEvents(logs ...*EventLog) []dedup.Event {
	n := 0
	for _, l := range logs {
		if l != nil {
			n += len(l.Events)
		}
	}
	if n == 0 {
		return nil
	}
	all := make([]dedup.Event, 0, n)
	for _, l := range logs {
		if l != nil {
			all = append(all, l.Events...)
		}
	}
	slices.SortStableFunc(all, func(a, b dedup.Event) int { return a.At.Compare(b.At) })
	if len(all) > LogKept {
		all = slices.Clone(all[len(all)-LogKept:])
	}
	return all
}
