package alerts

import (
	"math"

	"dedup-dashboard/internal/dedup"
)

// closed says how many channels of one kind were closed: as many as were seen, and at most so many; infinitely many where nothing
// bounds those that were not seen.
type closed struct{ seen, most float64 }

// closedBy bounds the channels of a kind that were closed in the window, by its figure. What is only seen in part is bounded by
// all closures of the pipeline.
func (s scene) closedBy(f dedup.Figure) closed {
	var c closed
	if sound(f) && finite(f.N) {
		c.seen = math.Max(0, f.N)
	}
	c.most = c.seen
	if !sound(f) || f.AtLeast {
		c.most = math.Inf(1)
		if all := s.window.MostClosed; all != nil && finite(*all) {
			c.most = math.Max(c.seen, *all)
		}
	}
	return c
}

// figureOf is the figure that counts the closed channels of a kind of cause; nil where the kind closes none that are counted.
func (s scene) figureOf(kind CauseKind) *dedup.Figure {
	switch kind {
	case CauseRestart:
		return &s.window.ConsumerRestarts
	case CauseAckTimeout:
		return &s.window.AckTimeouts
	}
	return nil
}

// mayBeBehind reports whether events can be behind a good share of the duplicates: all but closed channels that are too few, or
// that are few and of which it is not known whether there were more.
func (s scene) mayBeBehind(kind CauseKind, events []dedup.Event) bool {
	f := s.figureOf(kind)
	if f == nil {
		return true
	}
	var told float64
	for _, e := range events {
		told += float64(e.Happenings())
	}
	c := s.closedBy(*f)
	c.seen, c.most = math.Max(c.seen, told), math.Max(c.most, told)
	return s.suffices(c)
}

// suffices reports whether so many closed channels can be behind a good share of the duplicates: these are redeliveries for the
// most part, or it is not known what they are and nothing bounds what the channels left behind, or it may be as many. Of channels
// that nobody counted only those count that were seen.
func (s scene) suffices(c closed) bool {
	switch {
	case s.split.redelivered():
		return true
	case s.split.producer():
		return false
	case s.window.LostPerChannel <= 0:
		return true
	case !sound(s.window.Duplicates):
		return false
	case math.IsInf(c.most, 1):
		return s.many(c.seen)
	}
	return s.many(c.most)
}

// many reports whether so many closed channels can have left a good share of the duplicates behind.
func (s scene) many(channels float64) bool {
	return channels*float64(s.window.LostPerChannel) >= mostly*s.window.Duplicates.High
}

// enough is suffices for the channels that a figure counts.
func (s scene) enough(f dedup.Figure) bool { return s.suffices(s.closedBy(f)) }

// boundless says, where the duplicates are not known to be redeliveries, that nothing bounds what closed channels left behind.
func (s scene) boundless() string {
	if s.window.LostPerChannel > 0 || s.split.redelivered() {
		return ""
	}
	return ", and it is not known how much each leaves behind"
}

// tooFew says of closed channels that they are too few to explain the duplicates, where that is known, and that there may have
// been more than the few that were seen, where it is not.
func (s scene) tooFew() string {
	w := s.window
	if w.LostPerChannel <= 0 || !sound(w.Duplicates) || s.split.producer() {
		return ""
	}
	said, all := "", false
	for _, f := range []struct {
		word   string
		figure dedup.Figure
	}{{"consumer restart", w.ConsumerRestarts}, {"ack timeout", w.AckTimeouts}} {
		c := s.closedBy(f.figure)
		switch {
		case c.seen == 0 || s.suffices(c):
		case !f.figure.AtLeast:
			said += "; the " + figured(c.seen, f.word) + " seen can explain at most " + s.share(c.seen)
		case math.IsInf(c.most, 1):
			said += "; at least " + figured(c.seen, f.word) + ", of which it is not known whether there were more"
		case !all:
			all = true
			said += "; the channels that were closed, " + number(c.most) + " at most, can explain at most " + s.share(c.most)
		}
	}
	return said
}

// share says how many of the duplicates so many closed channels can have left behind.
func (s scene) share(channels float64) string {
	return number(channels*float64(s.window.LostPerChannel)) + " of " + count(s.window.Duplicates)
}

// hourly is a rate per hour. A lower bound is taken over the whole window, covered or not: a few that were seen make no pace.
func (s scene) hourly(f dedup.Figure) float64 {
	if f.AtLeast && finite(f.N) && s.window.Window > 0 {
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
