package event

import "time"

// together is the span over which what comes in a burst is one event.
const together = 5 * time.Minute

// A Burst counts what comes in numbers, such as closed channels, so that it neither fills the log nor changes what was told.
// Its beginning is told at once, and the rest when its span is over.
type Burst struct {
	from, last time.Time
	more       int64
}

// open reports whether the burst is under way at a time. A clock that was set back ends it.
func (b *Burst) open(at time.Time) bool {
	ago := at.Sub(b.from)
	return !b.from.IsZero() && ago >= 0 && ago < together
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
