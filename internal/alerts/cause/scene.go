package cause

import (
	"math"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// A scene is what is known when duplicates are many.
type scene struct {
	window *dedup.WindowFigures
	split  split
	rise   rise
	rose   bool
	// events are all that may matter, near those before the rise, or those of the window where there is none.
	events, near []dedup.Event
	// early are the consumer restarts that were seen when watching began, and that are none.
	early float64
	// last is what was named before.
	last Cause
}

func sceneOf(p *dedup.PipelineStatus, w *dedup.WindowFigures, events []dedup.Event, last Cause) scene {
	s := scene{window: w, last: last}
	s.events, s.early = settled(events, watchedSince(p))
	s.split = s.splitOf(p)
	end := w.DuplicateRate.At
	from := end.Add(-w.Window)
	if s.rise, s.rose = riseOf(p.Spark); s.rose {
		from, end = s.rise.From.Add(-leadTime), s.rise.At
	}
	s.near = between(s.events, from, end)
	return s
}

// least is the share of the duplicates that a cause of a kind must explain: once named, it stays until there is much less.
func (s scene) least(kind Kind) float64 {
	if kind == s.last.Kind {
		return stillMostly
	}
	return mostly
}

// cause names what explains half of the duplicates or more: a job of ours, whose messages are second ones too, the producer
// where the split says so, else what closes channels. A deploy claims no more than its time.
func (s scene) cause() Cause {
	if c, ok := s.byEvents(OwnJob); ok {
		return c
	}
	if s.split.producer(s.least(Producer)) {
		return s.begin(Cause{Kind: Producer}, "messages are published twice: "+s.split.producerShare())
	}
	kinds := []Kind{AckTimeout, Restart, Broker}
	for _, kind := range kinds {
		if kind == s.last.Kind {
			kinds = append([]Kind{kind}, kinds...)
			break
		}
	}
	for _, look := range []func(Kind) (Cause, bool){s.byEvents, s.byPace} {
		for _, kind := range kinds {
			if c, ok := look(kind); ok {
				return c
			}
		}
	}
	if hits := ofCause(s.near, Deploy); s.rose && len(hits) > 0 {
		return s.atTheTime(Deploy, hits)
	}
	if s.split.redelivered(s.least(Redeliveries)) {
		return s.begin(Cause{Kind: Redeliveries}, "no event explains it; "+s.split.redeliveredShare()+s.absent()+s.tooFew())
	}
	what := "no event explains the duplicates"
	if s.rose {
		what = "no event explains it"
	}
	return s.begin(Cause{Kind: Unexplained}, what+s.origins()+s.absent()+s.tooFew())
}

// begin puts the words of a cause behind the time of the rise, or at the beginning of the sentence.
func (s scene) begin(c Cause, said string) Cause {
	if s.rose {
		c.Rose, c.said = s.rise.At, "; "+said
	} else {
		c.said = text.Capitalised(said)
	}
	return c
}

// byEvents names the events of a kind that are near, if they can explain enough. The same events stay named however the time
// of the rise is estimated.
func (s scene) byEvents(kind Kind) (Cause, bool) {
	if kind == s.last.Kind && len(s.last.Events) > 0 && s.window.DuplicateRate.At.Sub(s.last.Rose) <= time.Hour {
		if most, ok := s.enough(kind, s.last.Events); ok {
			c := s.last
			c.claim, c.held = s.claim(most), false
			return c, true
		}
	}
	hits := ofCause(s.near, kind)
	if len(hits) == 0 || !s.rose && kind != OwnJob {
		return Cause{}, false
	}
	most, ok := s.enough(kind, hits)
	if !ok {
		return Cause{}, false
	}
	c := s.atTheTime(kind, hits)
	c.claim = s.claim(most)
	return c, true
}

// byPace names what goes on all the time and closes enough channels.
func (s scene) byPace(kind Kind) (Cause, bool) {
	f := s.figureOf(kind)
	if f == nil || !sound(*f) {
		return Cause{}, false
	}
	seen := s.closedBy(kind, nil).seen
	said := ""
	switch {
	case kind == AckTimeout && seen > 0 && f.Low > 0:
		said = "consumers hold messages for longer than the broker waits, " + s.pace(*f, "ack timeout")
	case kind == Restart && seen >= restartsFew && s.hourly(*f) >= restartsMany:
		said = "consumers restart " + s.pace(*f, "time")
	default:
		return Cause{}, false
	}
	most, ok := s.enough(kind, nil)
	if !ok {
		return Cause{}, false
	}
	end := s.window.DuplicateRate.At
	c := s.begin(Cause{Kind: kind, Events: ofCause(between(s.events, end.Add(-s.window.Window), end), kind)}, said)
	c.claim = s.claim(most)
	return c, true
}

// atTheTime says when events happened.
func (s scene) atTheTime(kind Kind, hits []dedup.Event) Cause {
	last := hits[len(hits)-1]
	c := Cause{Kind: kind, Events: hits}
	if s.rose {
		c.Rose = s.rise.At
		c.said = ", " + apart(s.rise, last.At) + " " + happened(hits) + " (" + quoted(last) + ")"
		return c
	}
	c.said = "In these " + rule.SeenIn(s.window, s.window.DuplicateRate) + " " + happened(hits) + " (" + quoted(last) + ")"
	return c
}

// claim says how many of the duplicates a cause can explain, or that nobody knows.
func (s scene) claim(most float64) string {
	said, same := "; it is not known how much that explains", false
	if !math.IsInf(most, 1) {
		said, same = "; that can explain up to "+rule.Number(most)+" of "+s.all(), s.split.window == s.window
	}
	switch {
	case !s.split.redelivered(mostly):
		return said
	case same:
		return said + ", and " + s.split.amount(s.split.again()) + " came from redeliveries"
	}
	return said + "; " + s.split.redeliveredShare()
}

// all are the duplicates that are to be explained, in words.
func (s scene) all() string {
	return rule.CountText(s.window.Duplicates) + " duplicates in " + rule.SeenIn(s.window, s.window.DuplicateRate)
}

// watchedSince is when watching began; zero where that is longer ago than the longest window.
func watchedSince(p *dedup.PipelineStatus) time.Time {
	var since time.Time
	for i := range p.Windows {
		w := &p.Windows[i]
		for _, f := range []dedup.Figure{w.DuplicateRate, w.ConsumerRestarts} {
			switch {
			case !f.Known() || f.At.IsZero() || f.Covered <= 0:
			case f.Covered >= w.Window-time.Minute:
				since = time.Time{}
			case since.IsZero() || f.At.Add(-f.Covered).Before(since):
				since = f.At.Add(-f.Covered)
			}
		}
	}
	return since
}
