// Package cause names what is most likely behind an alert: why a pipeline has duplicates, loops, or a source that cannot be read.
package cause

import (
	"math"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// Kind names a likely cause for machines.
type Kind string

// The causes that can be named.
const (
	Producer     Kind = "producer_sends_twice"
	Restart      Kind = "consumer_restart"
	AckTimeout   Kind = "ack_timeout"
	Broker       Kind = "broker"
	OwnJob       Kind = "own_job"
	Deploy       Kind = "deploy"
	Loop         Kind = "loop"
	Redeliveries Kind = "redeliveries"
	// Outage says that a store, a broker or reported counters cannot be read.
	Outage Kind = "source_down"
	// Unexplained says that duplicates are many, and that nothing that was seen explains them.
	Unexplained Kind = "unexplained"
)

// A Cause is the likely cause of a pipeline's duplicates, with its evidence. It is an inference from what happened at the same
// time, and no proof.
type Cause struct {
	Kind Kind
	// Rose is when the duplicates began to rise, to the resolution of the sparkline; zero where they did not within its hour.
	Rose time.Time
	// Events are those that it rests on, oldest first; empty where it rests on figures alone.
	Events []dedup.Event
	// said is the cause in words, claim how many of the duplicates that explains.
	said, claim string
	// past is said of a loop that has ended, and ended when that had happened at the latest; zero while it goes on.
	past  string
	ended time.Time
	// shown is when figures last showed it; held is true where they have not since, and do not exclude it.
	shown time.Time
	held  bool
	lost  outage
	// kept is a sentence from before a restart, of which nothing else is known.
	kept string
}

// Kept returns a cause of before a restart, of which the sentence alone is known.
func Kept(sentence string) Cause { return Cause{kept: sentence} }

// Told reports whether there is anything to say.
func (c Cause) Told() bool { return c.Kind != "" || c.kept != "" }

// Sentence says the cause and its evidence, with times in the zone.
func (c Cause) Sentence(zone *time.Location) string {
	switch {
	case c.Kind == "":
		return c.kept
	case c.Kind == Outage:
		return c.lost.sentence(zone)
	}
	said := c.said + c.claim
	if !c.ended.IsZero() {
		said = c.past + "; that ended by " + c.ended.In(zone).Format("15:04")
	}
	if !c.Rose.IsZero() {
		said = "Duplicates rose at " + c.Rose.In(zone).Format("15:04") + said
	}
	if c.held {
		said += "; figures last showed it at " + c.shown.In(zone).Format("15:04")
	}
	return said + "."
}

const (
	// leadTime is how long before a rise an event may lie that explains it.
	leadTime = 5 * time.Minute
	// mostly is the least share of the duplicates that a cause must explain to be named; stillMostly is it for one that was named.
	mostly, stillMostly = 0.5, 0.4
	// restartsMany are the consumer restarts per hour from which on they explain redeliveries without a rise, restartsFew how many
	// must have been seen: one in the first minute makes no pace.
	restartsMany, restartsFew = 6.0, 3.0
	// loopsMany are the redeliveries of messages that cannot proceed, from which on they are a loop.
	loopsMany = 10.0
	// saidOfEvent bounds what a sentence quotes of an event.
	saidOfEvent = 160
)

// Likely names the likely cause of a pipeline's duplicates, or of a loop without duplicates, from its figures and from
// the events of it, its broker and its stores, oldest first. False means that there is nothing to explain: the rate is
// below its warning limit or not known, and nothing loops. Where they come from decides first; an event is named only if it
// can explain half of them, and lies within five minutes before their rise. A loop while a source is down is said to be of that.
func Likely(p *dedup.PipelineStatus, events []dedup.Event) (Cause, bool) {
	c, ok := likely(p, events, Cause{})
	if lost, down := outageOf(p.Down); down && c.Kind == Loop {
		return Cause{Kind: Outage, lost: lost}, true
	}
	return c, ok
}

// likely is Likely for an alert that was told a cause before, which is kept while it still qualifies.
func likely(p *dedup.PipelineStatus, events []dedup.Event, last Cause) (Cause, bool) {
	w := rule.JudgedWindow(p)
	if w == nil || few(p.Pipeline.Limits, w.DuplicateRate) { // of many duplicates a loop is no cause: its redeliveries are none
		return loopCause(p, w, last)
	}
	s := sceneOf(p, w, events, last)
	c := s.cause()
	c.shown = w.DuplicateRate.At
	return s.hold(c), true
}

// few reports whether there are too few duplicates to be explained.
func few(l dedup.Limits, rate dedup.Figure) bool {
	return rate.Low < l.DuplicateWarning || math.Round(rate.Low*rate.N) < l.MinDuplicates
}

// loopCause tells of a loop, which has ended where a shorter window shows none of it any more.
func loopCause(p *dedup.PipelineStatus, w *dedup.WindowFigures, last Cause) (Cause, bool) {
	if w == nil {
		for i := range p.Windows {
			if p.Windows[i].Window >= p.Pipeline.Limits.Window {
				w = &p.Windows[i]
				break
			}
		}
	}
	if w == nil || !sound(w.Looping) || w.Looping.Low < loopsMany {
		return Cause{}, false
	}
	loops, d := w.Looping, w.Duplicates
	goes, went := "Messages that cannot proceed go round", "Messages that could not proceed went round"
	if one(p.Stuck) {
		goes, went = "One message loops on a stuck marker", "One message looped on a stuck marker"
	} else if sound(p.Stuck) && p.Stuck.High > 1 {
		goes, went = "Messages loop on "+upToCount(p.Stuck)+" stuck markers", "Messages looped on "+upToCount(p.Stuck)+" stuck markers"
	}
	seen := ": " + rule.CountText(loops) + " redeliveries in " + rule.SeenIn(w, loops)
	switch {
	case sound(d) && d.High == 0:
		seen += ", no duplicates"
	case sound(d):
		seen += ", which are no duplicates; duplicates there are " + rule.CountText(d)
	default:
		seen += ", which are no duplicates"
	}
	c := Cause{Kind: Loop, said: goes + seen, past: went + seen}
	if c.ended = loopEnded(p, w); !c.ended.IsZero() && last.Kind == Loop && !last.ended.IsZero() {
		c.ended = last.ended // it was seen to have ended before
	}
	return c, true
}

// loopEnded is when a loop of a window had ended at the latest, by the longest shorter one without any of it; zero where none is.
func loopEnded(p *dedup.PipelineStatus, w *dedup.WindowFigures) time.Time {
	var ended time.Time
	for i := range p.Windows {
		shorter := &p.Windows[i]
		f := shorter.Looping
		if shorter.Window >= w.Window || !sound(f) || f.AtLeast || f.Partial() || f.High > 0 || f.At.IsZero() {
			continue
		}
		if at := f.At.Add(-shorter.Window); ended.IsZero() || at.Before(ended) {
			ended = at
		}
	}
	return ended
}

func one(f dedup.Figure) bool { return f.Known() && f.Low == 1 && f.High == 1 && !f.AtLeast }

// absent says what was looked for and not seen; what cannot be seen on this broker is not claimed.
func (s scene) absent() string {
	var none []string
	for _, f := range []struct {
		word   string
		figure dedup.Figure
	}{{"consumer restart", s.window.ConsumerRestarts}, {"ack timeout", s.window.AckTimeouts}} {
		if sound(f.figure) && f.figure.High == 0 && !f.figure.AtLeast {
			none = append(none, "no "+f.word)
		}
	}
	if len(none) == 0 {
		return ""
	}
	return "; " + strings.Join(none, ", ") + " in " + rule.SeenIn(s.window, s.window.DuplicateRate)
}

// sound reports whether a figure is known, and a number that a count can have.
func sound(f dedup.Figure) bool { return f.Known() && rule.Finite(f.Low, f.High) && f.Low >= 0 }

// between returns the events of a span, both ends included.
func between(events []dedup.Event, from, to time.Time) []dedup.Event {
	var kept []dedup.Event
	for _, e := range events {
		if !e.At.Before(from) && !e.At.After(to) {
			kept = append(kept, e)
		}
	}
	return kept
}

// apart says how long after an event the duplicates rose. A rise is known to within two points of the sparkline only.
func apart(r rise, at time.Time) string {
	if gap := r.At.Sub(at); at.Before(r.From) {
		return rule.Seconds(gap) + " after"
	}
	return "within " + rule.Seconds(r.At.Sub(r.From)) + " of when"
}

// upToCount is rule.CountText, but of an interval that begins at none.
func upToCount(f dedup.Figure) string {
	if f.Low == 0 && !f.AtLeast {
		return "up to " + rule.Number(f.High)
	}
	return rule.CountText(f)
}

// perHour writes a rate as it is: rounded, few events would read as none or as more than there were.
func perHour(rate float64, word string) string {
	digits := rule.Number(rate)
	if rate < 10 {
		digits = strconv.FormatFloat(rate, 'g', 2, 64)
	}
	if digits != "1" {
		word += "s"
	}
	return digits + " " + word + " per hour"
}
