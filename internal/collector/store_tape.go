package collector

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// The ages at which a store's tape thins out: every reading for ten minutes, one in storeTapeFine for two hours, one a minute
// for a day. So it never holds more than storeTapeMost readings at an interval of a second or more.
const (
	storeTapeNew  = 10 * time.Minute
	storeTapeFine = 5 * time.Second
	storeTapeMost = int(storeTapeNew/time.Second) + int(tapeFull/storeTapeFine) + int(tapeTotal/tapeStep) + storeTapeThin
	// storeTapeThin is how many readings come between two times at which a tape is thinned.
	storeTapeThin = 64
)

// A storeReading is what the events of a store had told at one time. Counts are cumulative within an epoch.
type storeReading struct {
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

// A storeTape is what the events of one store told, in time order.
type storeTape struct {
	readings []storeReading
	// broke is when the newest epoch began, if another one came before it; zero when none did.
	broke time.Time
	added int
}

// add appends a reading of a subscription that stands. One that is not later than the last is the same one again; one of a
// time before it, as after the clock was set back, begins the tape anew.
func (t *storeTape) add(e *dedup.StoreEvents) {
	if e == nil || !e.Listening || e.At.IsZero() {
		return
	}
	var like dedup.PackedSketch
	if n := len(t.readings); n > 0 {
		last := t.readings[n-1]
		switch {
		case e.At.Equal(last.At):
			return
		case e.At.Before(last.At):
			t.readings = t.readings[:0]
		case e.Epoch == last.Epoch:
			like = last.Work
		}
		if e.Epoch != last.Epoch {
			t.broke = e.Since
		}
	}
	r := storeReading{
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
	t.readings = append(t.readings, r)
	if t.added++; t.added%storeTapeThin == 0 {
		t.thin(e.At)
	}
}

func (t *storeTape) thin(now time.Time) {
	t.readings = thinned(t.readings, now, func(r *storeReading) time.Time { return r.At }, grain{tapeFull, tapeStep}, grain{storeTapeNew, storeTapeFine})
}

// anew is how much work of the last 24 h was done again after its done marker had ended, by the readings of the newest epoch.
func (t *storeTape) anew() float64 {
	known, ok := spanOf(t.epoch(), 24*time.Hour)
	if !ok {
		return 0
	}
	return known.To.Anew - known.From.Anew
}

// epoch returns the readings of the newest epoch.
func (t *storeTape) epoch() []storeReading {
	n := len(t.readings)
	if n == 0 {
		return nil
	}
	i := n
	for i > 0 && t.readings[i-1].Epoch == t.readings[n-1].Epoch {
		i--
	}
	return t.readings[i:]
}
