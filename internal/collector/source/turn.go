package source

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/text"
)

// outageLeast is how long a source must have been down for its recovery to be a time of its own: what went round or
// stood still meanwhile is the outage's doing, and says nothing of the markers.
const outageLeast = 30 * time.Second

// An Outage is one time for which a source could not be read.
type Outage struct {
	Source string
	From   time.Time
	Until  time.Time // zero while it lasts
}

// Lasted is how long it lasted, until now if it still does.
func (o Outage) Lasted(now time.Time) time.Duration {
	if o.Until.IsZero() {
		return now.Sub(o.From)
	}
	return o.Until.Sub(o.From)
}

// Words say that it goes on.
func (o Outage) Words() string {
	return fmt.Sprintf("%s cannot be read since %s", text.Name(o.Source), o.From.UTC().Format("15:04:05 MST"))
}

// A Turn is what changed of a source since it was noted before: at most one of both.
type Turn struct {
	Down, Up bool
	At       time.Time
	// Err says why it cannot be read, Lasted how long the outage was that has ended.
	Err    string
	Lasted time.Duration
}

// Turns follow which sources answer, by name, and the outages of each. They belong to one goroutine.
type Turns struct{ sources map[string]*turned }

// A turned source keeps whether it answered, the outage that goes on, and the last one of outageLeast or longer.
type turned struct {
	up         bool
	open, last Outage
}

// NewTurns returns the turns of sources of which none was tried yet.
func NewTurns() *Turns { return &Turns{make(map[string]*turned)} }

// Note takes how a source is now, and returns whether that is news.
func (t *Turns) Note(s *Source, now time.Time) Turn {
	h := s.Status(now)
	if !h.Tried {
		return Turn{}
	}
	l, known := t.sources[s.Name]
	if !known {
		l = &turned{}
		t.sources[s.Name] = l
	}
	turn := Turn{At: now, Err: h.Err, Down: !h.OK && (l.up || !known), Up: h.OK && known && !l.up}
	if !known && !h.OK && h.Since.Before(now) { // it may have begun before a restart
		turn.At = h.Since
	}
	if l.up != h.OK || !known {
		turn.Lasted = l.turn(s.Name, h.OK, turn.At)
	}
	l.up = h.OK
	return turn
}

// turn notes that the source went down or came back at a time, and returns how long the outage was that has ended, if one has.
func (l *turned) turn(source string, ok bool, at time.Time) (lasted time.Duration) {
	if !ok {
		l.open = Outage{Source: source, From: at}
		return 0
	}
	if l.open.Until = at; !l.open.From.IsZero() {
		if lasted = l.open.Lasted(at); lasted >= outageLeast {
			l.last = l.open
		}
	}
	l.open = Outage{}
	return lasted
}

// Ended are the last outages of sources that have ended, one of each source that had any.
func (t *Turns) Ended(sources ...*Source) []Outage {
	var all []Outage
	for _, s := range sources {
		if l := t.sources[s.Name]; l != nil && !l.last.Until.IsZero() {
			all = append(all, l.last)
		}
	}
	return all
}

// Open is the outage of a source that goes on; nil when there is none.
func (t *Turns) Open(s *Source) *Outage {
	if l := t.sources[s.Name]; l != nil && !l.open.From.IsZero() {
		return &l.open
	}
	return nil
}

// Since is from when on readings that are late by a lag tell of the sources as they are: since the last of their outages. It is zero
// when they had none.
func (t *Turns) Since(lag time.Duration, sources ...*Source) time.Time {
	var from time.Time
	for _, o := range t.Ended(sources...) {
		if at := o.Until.Add(lag); at.After(from) {
			from = at
		}
	}
	return from
}
