package sample

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// The ages at which the events of a store thin out: every reading for ten minutes, one in EventsStep for two hours, one a minute
// for a day. So it never holds more than eventsMost readings at an interval of a second or more.
const (
	EventsFor  = 10 * time.Minute
	EventsStep = 5 * time.Second
	eventsMost = int(EventsFor/time.Second) + int(EachFor/EventsStep) + int(keptFor/OldStep) + eventsThin
	// eventsThin is how many readings come between two times at which they are thinned.
	eventsThin = 64
)

// An EventReading is what the events of a store had told at one time. Counts are cumulative within an epoch.
type EventReading struct {
	At time.Time // our clock
	// Took is how long before At the counts may be true.
	Took  time.Duration
	Epoch int64
	// Since is when the epoch began.
	Since time.Time
	// Asked counts the calls of the scheme's command; AskedKnown is false where the store does not tell.
	Asked      float64
	AskedKnown bool
	// The others are those of dedup.StoreEvents. Failures are without our own clears.
	Claims, Completions, Failures, GaveUp, Lost, Again, Twice, Anew, Unclear, Evicted float64
	// Missed are the questions for markers that were not there, MissedKnown is false where the store does not tell; OwnMissed bounds ours.
	Missed      float64
	MissedKnown bool
	OwnMissed   [2]float64
	// Open are the claims that were open then.
	Open float64
	Work dedup.PackedSketch
}

// Events are what those of one store told, in time order.
type Events struct {
	Readings []EventReading
	// Broke is when the newest epoch began, if another one came before it; zero when none did.
	Broke time.Time
	added int
}

// Seen counts the claims and completions that the newest reading knows of.
func (e *Events) Seen() float64 {
	if n := len(e.Readings); n > 0 {
		return e.Readings[n-1].Claims + e.Readings[n-1].Completions
	}
	return 0
}

// Add appends a reading of a subscription that stands. One that is not later than the last is the same one again; one of a
// time before it, as after the clock was set back, begins them anew.
func (t *Events) Add(e *dedup.StoreEvents) {
	if e == nil || !e.Listening || e.At.IsZero() {
		return
	}
	var like dedup.PackedSketch
	if n := len(t.Readings); n > 0 {
		last := t.Readings[n-1]
		switch {
		case e.At.Equal(last.At):
			return
		case e.At.Before(last.At):
			t.Readings = t.Readings[:0]
		case e.Epoch == last.Epoch:
			like = last.Work
		}
		if e.Epoch != last.Epoch {
			t.Broke = e.Since
		}
	}
	r := EventReading{
		At: e.At, Took: e.Took, Epoch: e.Epoch, Since: e.Since, Claims: float64(e.Claims), Completions: float64(e.Completions),
		Failures: float64(e.Failures - e.Cleared), GaveUp: float64(e.GaveUp), Lost: float64(e.Lost), Again: float64(e.Again), Twice: float64(e.Twice), Anew: float64(e.Anew), Unclear: float64(e.Unclear), Evicted: float64(e.Evicted), Open: float64(e.InFlight),
		Work: e.Work.Pack(like),
	}
	if e.Asked != nil {
		r.Asked, r.AskedKnown = float64(*e.Asked), true
	}
	if e.Missed != nil {
		r.Missed, r.MissedKnown, r.OwnMissed = float64(*e.Missed), true, [2]float64{float64(e.OwnMissed[0]), float64(e.OwnMissed[1])}
	}
	t.Readings = append(t.Readings, r)
	if t.added++; t.added%eventsThin == 0 {
		t.thin(e.At)
	}
}

func (t *Events) thin(now time.Time) {
	t.Readings = Thin(t.Readings, now, func(r *EventReading) time.Time { return r.At }, OlderThan(EachFor, OldStep), OlderThan(EventsFor, EventsStep))
}

// Anew is how much work of the last 24 h was done again after its done marker had ended, by the readings of the newest epoch.
func (t *Events) Anew() float64 {
	known, ok := SpanOf(t.Epoch(), 24*time.Hour)
	if !ok {
		return 0
	}
	return known.To.Anew - known.From.Anew
}

// Epoch returns the readings of the newest epoch.
func (t *Events) Epoch() []EventReading {
	n := len(t.Readings)
	if n == 0 {
		return nil
	}
	i := n
	for i > 0 && t.Readings[i-1].Epoch == t.Readings[n-1].Epoch {
		i--
	}
	return t.Readings[i:]
}
