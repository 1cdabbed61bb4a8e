// Package event remembers what happened to a broker, a store or a pipeline, for people to read.
package event

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// The bounds on remembered events.
const (
	// Kept is how many events are remembered, Age for how long.
	Kept = 200
	Age  = 24 * time.Hour
	// apart is how soon an event of a kind that comes in bursts may be followed by another.
	apart = time.Minute
)

// A Log keeps what happened within a day, oldest first.
type Log struct{ events []dedup.Event }

// NewLog returns a log of events that are in order.
func NewLog(events []dedup.Event) *Log { return &Log{events} }

// Add adds an event of one happening.
func (l *Log) Add(at time.Time, kind, text string) { l.AddCounted(at, kind, 1, text) }

// AddCounted adds an event that tells of n happenings.
func (l *Log) AddCounted(at time.Time, kind string, n int64, text string) {
	l.events = append(l.events, dedup.Event{At: at, Kind: kind, Text: text, Count: n})
	drop := max(0, len(l.events)-Kept)
	for drop < len(l.events) && at.Sub(l.events[drop].At) > Age {
		drop++
	}
	l.events = slices.Delete(l.events, 0, drop)
}

// AddSpaced adds an event unless one of its kind was added less than apart ago.
func (l *Log) AddSpaced(at time.Time, kind, text string) {
	for i := len(l.events) - 1; i >= 0; i-- {
		e := l.events[i]
		if ago := at.Sub(e.At); ago >= apart || ago < 0 {
			break
		}
		if e.Kind == kind {
			return
		}
	}
	l.Add(at, kind, text)
}

// Copy returns a log that holds the same and does not change with this one.
func (l *Log) Copy() *Log { return &Log{slices.Clone(l.events)} }

// Merge returns the newest events of several logs, oldest first. The result is a copy.
func Merge(logs ...*Log) []dedup.Event {
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
	if len(all) > Kept {
		all = slices.Clone(all[len(all)-Kept:])
	}
	return all
}
