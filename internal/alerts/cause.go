package alerts

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// CauseKind names a likely cause for machines.
type CauseKind string

// The causes that can be named.
const (
	CauseProducer     CauseKind = "producer_sends_twice"
	CauseRestart      CauseKind = "consumer_restart"
	CauseAckTimeout   CauseKind = "ack_timeout"
	CauseBroker       CauseKind = "broker"
	CauseOwnJob       CauseKind = "own_job"
	CauseDeploy       CauseKind = "deploy"
	CauseLoop         CauseKind = "loop"
	CauseRedeliveries CauseKind = "redeliveries"
	// CauseUnexplained says that duplicates are many, and that nothing that was seen explains them.
	CauseUnexplained CauseKind = "unexplained"
)

// A Cause is the likely cause of a pipeline's duplicates, with its evidence. It is an inference from what happened at the same
// time, and no proof.
type Cause struct {
	Kind CauseKind
	// Rose is when the duplicates began to rise, to the resolution of the sparkline; zero where they did not within its hour.
	Rose time.Time
	// Events are those that it rests on, oldest first; empty where it rests on figures alone.
	Events []dedup.Event
	said   string
}

// Sentence says the cause and its evidence, with times in the zone.
func (c Cause) Sentence(zone *time.Location) string {
	if c.Rose.IsZero() {
		return c.said
	}
	return "Duplicates rose at " + c.Rose.In(zone).Format("15:04") + c.said
}

const (
	// causeLead is how long before a rise an event may lie that explains it.
	causeLead = 5 * time.Minute
	// mostly is the least certain share of the duplicates that makes them those of one origin.
	mostly = 0.5
	// restartsMany are the consumer restarts per hour from which on they explain redeliveries without a rise.
	restartsMany = 6.0
	// loopsMany are the redeliveries of messages that cannot proceed, from which on they are a loop.
	loopsMany = 10.0
	// saidOfEvent bounds what a sentence quotes of an event.
	saidOfEvent = 160
)

// LikelyCause names the likely cause of a pipeline's duplicates, or of a loop without duplicates, from its figures and from
// the events of it, its broker and its stores, oldest first. False means that there is nothing to explain: the rate is
// below its warning limit or not known, and nothing loops. An event explains a rise that follows it within five minutes.
func LikelyCause(p *dedup.PipelineStatus, events []dedup.Event) (Cause, bool) {
	_, w, _ := firstJudgeable(p.Windows, p.Pipeline.Limits, func(w *dedup.WindowFigures) dedup.Figure { return w.DuplicateRate })
	if c, ok := loopCause(p, w); ok {
		return c, true
	}
	if w == nil {
		return Cause{}, false
	}
	l, rate := p.Pipeline.Limits, w.DuplicateRate
	if rate.Low < l.DuplicateWarning || math.Round(rate.Low*rate.N) < l.MinDuplicates {
		return Cause{}, false
	}
	s := scene{window: w, split: splitOf(w)}
	if r, ok := riseOf(p.Spark); ok {
		return s.afterRise(r, events), true
	}
	return s.steady(events), true
}

// loopCause tells a loop from duplicates: its redeliveries are none, however many they are.
func loopCause(p *dedup.PipelineStatus, w *dedup.WindowFigures) (Cause, bool) {
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
	if sound(d) && d.High*10 > loops.Low { // there are duplicates as well, and they are what is asked for
		return Cause{}, false
	}
	what := "Messages that cannot proceed go round"
	if one(p.Stuck) {
		what = "One message loops on a stuck marker"
	} else if sound(p.Stuck) && p.Stuck.Low > 1 {
		what = "Messages loop on " + count(p.Stuck) + " stuck markers"
	}
	said := what + ": " + count(loops) + " redeliveries in " + span(w.Window)
	switch {
	case sound(d) && d.High == 0:
		said += ", no duplicates."
	case sound(d):
		said += ", which are no duplicates; duplicates there are " + count(d) + "."
	default:
		said += ", which are no duplicates."
	}
	return Cause{Kind: CauseLoop, said: said}, true
}

func one(f dedup.Figure) bool { return f.Known() && f.Low == 1 && f.High == 1 && !f.AtLeast }

// A scene is what is known when duplicates are many.
type scene struct {
	window *dedup.WindowFigures
	split  split
}

// afterRise looks for an event before the rise, the one that explains duplicates of this origin best.
func (s scene) afterRise(r rise, events []dedup.Event) Cause {
	c := Cause{Rose: r.At}
	near := between(events, r.From.Add(-causeLead), r.At)
	for _, kind := range s.split.causes() {
		hits := ofCause(near, kind)
		if len(hits) == 0 || !s.mayBeBehind(kind, hits) {
			continue
		}
		last := hits[len(hits)-1]
		c.Kind, c.Events = kind, hits
		c.said = ", " + apart(r, last.At) + " " + happened(hits) + " (" + quoted(last) + ")" + s.split.clause() + "."
		return c
	}
	if s.split.producer() {
		c.Kind = CauseProducer
		c.said = ": the producer sends messages twice" + s.split.clause() + s.absent() + "."
		return c
	}
	c.Kind = CauseUnexplained
	c.said = s.split.clause() + ". No event explains it" + s.absent() + s.tooFew() + "."
	return c
}

// steady names what keeps duplicates many, where they did not rise within the hour.
func (s scene) steady(events []dedup.Event) Cause {
	w := s.window
	end := w.DuplicateRate.At
	inWindow := between(events, end.Add(-w.Window), end)
	jobs := ofCause(inWindow, CauseOwnJob)
	switch {
	case len(jobs) > 0 && !s.split.redelivered():
		last := jobs[len(jobs)-1]
		return Cause{Kind: CauseOwnJob, Events: jobs, said: "In these " + span(w.Window) + " " + happened(jobs) + " (" + quoted(last) + "), and a message that it sends again is a duplicate where its work was done" + s.split.clause() + "."}
	case s.split.producer():
		return Cause{Kind: CauseProducer, said: "The producer sends messages twice: " + s.split.share() + s.absent() + "."}
	case sound(w.AckTimeouts) && w.AckTimeouts.Low > 0 && s.enough(w.AckTimeouts):
		return Cause{Kind: CauseAckTimeout, Events: ofCause(inWindow, CauseAckTimeout),
			said: "Consumers hold messages for longer than the broker waits: " + s.pace(w.AckTimeouts, "ack timeout") + s.boundless() + s.split.clause() + "."}
	case sound(w.ConsumerRestarts) && s.hourly(w.ConsumerRestarts) >= restartsMany && s.enough(w.ConsumerRestarts):
		return Cause{Kind: CauseRestart, Events: ofCause(inWindow, CauseRestart),
			said: "Consumers restart " + s.pace(w.ConsumerRestarts, "time") + s.boundless() + s.split.clause() + "."}
	case s.split.redelivered():
		return Cause{Kind: CauseRedeliveries, said: capital(s.split.share()) + ": consumers lose acks. No event explains it" + s.absent() + "."}
	}
	return Cause{Kind: CauseUnexplained, said: "No event explains the duplicates" + s.absent() + s.tooFew() + s.split.clause() + "."}
}

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
	return "; " + strings.Join(none, ", ") + " in " + span(s.window.Window)
}

// sound reports whether a figure is known, and a number that a count can have.
func sound(f dedup.Figure) bool { return f.Known() && finite(f.Low, f.High) && f.Low >= 0 }

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
		return seconds(gap) + " after"
	}
	return "within " + seconds(r.At.Sub(r.From)) + " of when"
}

func seconds(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	}
	return span(d)
}

// count writes a figure of whole things with both ends.
func count(f dedup.Figure) string {
	switch {
	case f.AtLeast:
		return "at least " + number(f.Low)
	case f.IsInterval():
		return number(f.Low) + " to " + number(f.High)
	}
	return number(f.Low)
}

func figured(n float64, word string) string {
	if math.Round(n) == 1 {
		return "1 " + word
	}
	return number(n) + " " + word + "s"
}

// perHour writes a rate as it is: rounded, few events would read as none or as more than there were.
func perHour(rate float64, word string) string {
	digits := number(rate)
	if rate < 10 {
		digits = strconv.FormatFloat(rate, 'g', 2, 64)
	}
	if digits != "1" {
		word += "s"
	}
	return digits + " " + word + " per hour"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
