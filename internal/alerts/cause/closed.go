package cause

import (
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// settling is how long after watching began consumers are still found: one that takes the place of another then is no restart.
const settling = 2 * time.Minute

// settled leaves out the consumer restarts that were seen when watching began, and counts them.
func settled(events []dedup.Event, began time.Time) (kept []dedup.Event, early float64) {
	if began.IsZero() {
		return events, 0
	}
	for _, e := range events {
		if since := e.At.Sub(began); e.Kind == "consumer_restart" && since >= -settling && since <= settling {
			early += float64(e.Happenings())
			continue
		}
		kept = append(kept, e)
	}
	return kept, early
}

// closed says how many channels of one kind were closed: as many as were seen, and at most so many; infinitely many where nothing
// bounds those that were not seen.
type closed struct{ seen, most float64 }

// closedBy bounds the channels that were closed by causes of a kind: in the window by its figure, and near by the events. What is
// only seen in part is bounded by all closures of the pipeline.
func (s scene) closedBy(kind Kind, events []dedup.Event) closed {
	c := closed{seen: happenings(events)}
	all := math.Inf(1)
	if most := s.window.MostClosed; most != nil && rule.Finite(*most) {
		all = math.Max(0, *most)
	}
	f := s.figureOf(kind)
	switch {
	case f == nil && slices.ContainsFunc(events, func(e dedup.Event) bool { return e.Kind != "channels_closed" }):
		c.most = all // what befalls a node closes as many channels as it had
		return c
	case f == nil:
		c.most = math.Min(c.seen, all) // those of the whole broker
		return c
	}
	if sound(*f) && rule.Finite(f.N) {
		counted := math.Max(0, f.N)
		if kind == Restart {
			counted = math.Max(0, counted-s.early)
		}
		c.seen = math.Max(c.seen, counted)
	}
	c.most = c.seen
	if c.seen > 0 && (!sound(*f) || f.AtLeast) {
		c.most = math.Max(c.seen, all)
	}
	return c
}

func happenings(events []dedup.Event) float64 {
	n := 0.0
	for _, e := range events {
		n += float64(e.Happenings())
	}
	return n
}

// figureOf is the figure that counts the closed channels of a kind of cause; nil where the kind closes none that are counted.
func (s scene) figureOf(kind Kind) *dedup.Figure {
	switch kind {
	case Restart:
		return &s.window.ConsumerRestarts
	case AckTimeout:
		return &s.window.AckTimeouts
	}
	return nil
}

// explains bounds the duplicates that events of a kind can be behind, infinite where nothing bounds them. Closed channels leave
// behind what they held, of which no more can be duplicates than were redelivered; a job of ours what it published.
func (s scene) explains(kind Kind, events []dedup.Event) float64 {
	if kind == OwnJob {
		return math.Min(published(events), s.mostOf(s.window.ProducerSent, s.window.Redelivered))
	}
	c := s.closedBy(kind, events)
	channels, each := c.most, float64(s.window.LostPerChannel)
	if math.IsInf(channels, 1) && each > 0 && s.figureOf(kind) != nil {
		channels = c.seen // of channels that nobody counted only those count that were seen
	}
	left := math.Inf(1)
	switch {
	case channels <= 0:
		left = 0
	case each > 0:
		left = channels * each
	}
	most := s.mostOf(s.window.Redelivered, s.window.ProducerSent)
	if f := s.window.Redeliveries; sound(f) && !f.AtLeast && rule.Finite(f.N) {
		most = math.Min(most, math.Max(0, f.High*f.N))
	}
	return math.Min(left, most)
}

// mostOf bounds the duplicates of one origin, infinite where nothing does.
func (s scene) mostOf(origin, other dedup.Figure) float64 {
	most := math.Inf(1)
	if sound(origin) && !origin.AtLeast {
		most = origin.High
	}
	if d := s.window.Duplicates; sound(d) && sound(other) && !d.AtLeast {
		most = math.Min(most, math.Max(0, d.High-other.Low))
	}
	return most
}

// published are the messages that jobs published again, infinitely many where one does not say.
func published(jobs []dedup.Event) float64 {
	n := 0.0
	for _, e := range jobs {
		if e.Count <= 0 {
			return math.Inf(1)
		}
		n += float64(e.Count)
	}
	return n
}

// enough reports whether causes of a kind can be behind so many of the duplicates that they are named, and behind how many. It is
// infinite where nothing bounds that: then they are named too, but for closed channels and alarms of the whole broker.
func (s scene) enough(kind Kind, events []dedup.Event) (most float64, ok bool) {
	d := s.window.Duplicates
	most = s.explains(kind, events)
	if math.IsInf(most, 1) {
		return most, kind != Broker || slices.ContainsFunc(events, befalls)
	}
	if !sound(d) || d.High <= 0 {
		return 0, false
	}
	most = math.Floor(math.Min(most, d.High) + 1e-9)
	return most, most >= s.least(kind)*d.High
}

// tooFew says of closed channels that they are too few to explain the duplicates, where that is known, and that there may have
// been more than the few that were seen, where it is not.
func (s scene) tooFew() string {
	w := s.window
	if w.LostPerChannel <= 0 || !sound(w.Duplicates) || s.split.producer(mostly) {
		return ""
	}
	said, all := "", false
	for _, f := range []struct {
		kind   Kind
		word   string
		figure dedup.Figure
	}{{Restart, "consumer restart", w.ConsumerRestarts}, {AckTimeout, "ack timeout", w.AckTimeouts}} {
		c := s.closedBy(f.kind, nil)
		if _, ok := s.enough(f.kind, nil); ok || c.seen == 0 {
			continue
		}
		switch {
		case !f.figure.AtLeast:
			said += "; the " + rule.Figured(c.seen, f.word) + " seen can explain at most " + s.left(c.seen)
		case math.IsInf(c.most, 1):
			said += "; at least " + rule.Figured(c.seen, f.word) + ", of which it is not known whether there were more"
		case !all:
			all = true
			said += "; the channels that were closed, " + rule.Number(c.most) + " at most, can explain at most " + s.left(c.most)
		}
	}
	return said
}

// left says how many of the duplicates so many closed channels can have left behind.
func (s scene) left(channels float64) string {
	return rule.Number(channels*float64(s.window.LostPerChannel)) + " of " + rule.CountText(s.window.Duplicates)
}

// hourly is a rate per hour. A lower bound is taken over the whole window, covered or not: a few that were seen make no pace.
func (s scene) hourly(f dedup.Figure) float64 {
	if f.AtLeast && rule.Finite(f.N) && s.window.Window > 0 {
		return f.N / s.window.Window.Hours()
	}
	return f.Low
}

// pace writes a rate per hour, which may be a lower bound.
func (s scene) pace(f dedup.Figure, word string) string {
	if f.AtLeast {
		return "at least " + perHour(s.hourly(f), word)
	}
	return perHour(f.Low, word)
}
