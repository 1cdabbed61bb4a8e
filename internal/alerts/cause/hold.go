package cause

import (
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// heldFor is how long a cause is kept that figures showed, and neither show nor exclude any more.
const heldFor = 5 * time.Minute

// vague reports whether a cause names nothing that anybody could fix.
func (k Kind) vague() bool {
	switch k {
	case "", Unexplained, Redeliveries, Loop, Outage:
		return true
	}
	return false
}

// hold keeps the producer as the cause for a while where the split leaves it open, which widens and narrows with each pass over a
// store; and the time of the rise, which is an estimate.
func (s scene) hold(c Cause) Cause {
	last := s.last
	if c.Kind == last.Kind && !c.Rose.IsZero() && !last.Rose.IsZero() && len(c.Events) == 0 && c.Rose.Sub(last.Rose).Abs() <= leadTime {
		c.Rose = last.Rose
	}
	if last.Kind != Producer || !c.Kind.vague() || s.split.redelivered(mostly) || c.shown.Sub(last.shown) > heldFor {
		return c
	}
	last.held = true
	return last
}

// Explain returns the cause of an alert on a pipeline that began at a time, and false where none can be told. Last is what was told before:
// it stays where no more can be told now.
func Explain(j rule.Judgement, snap *dedup.Snapshot, p *dedup.PipelineStatus, last Cause, began time.Time) (Cause, bool) {
	told, known := explained(j, snap, p, last)
	if !known {
		told = last.over(j)
	}
	restored := !known && told.kept != "" // before a restart a better one may have been known
	lost, down := outageOf(p.Down)
	if down && told.Kind.vague() && !restored && (lost.mayBeBehind(began) || told.lost.source == lost.source) {
		told = Cause{Kind: Outage, lost: lost}
	}
	if told.Kind == Outage {
		told.lost = told.lost.over(snap.Sources)
	}
	return told, told.Kind != ""
}

// over is a cause that figures show no more, in the past where they say so and do not merely say nothing.
func (c Cause) over(j rule.Judgement) Cause {
	if j.Health != rule.HealthOK || !Concerns(j.Key.Rule) {
		return c
	}
	switch {
	case c.Kind == Loop && c.ended.IsZero():
		c.ended = j.At
	case c.Kind != Loop && !c.shown.IsZero():
		c.held = true
	}
	return c
}

// explained returns the cause that explains an alert about duplicates or loops, and false where nothing can be told now.
func explained(j rule.Judgement, snap *dedup.Snapshot, p *dedup.PipelineStatus, last Cause) (Cause, bool) {
	if j.Health != rule.HealthOK || j.Enters <= dedup.Normal || !Concerns(j.Key.Rule) {
		return Cause{}, false
	}
	if j.Key.Rule == loopRule { // the cause of duplicates would be a wrong track
		return loopCause(p, rule.JudgedWindow(p), last)
	}
	if _, ok := likely(p, nil, last); !ok { // the events of most pipelines need not be joined
		return Cause{}, false
	}
	told, ok := likely(p, snap.EventsOf(p), last)
	return told, ok && told.Kind != Loop // whose redeliveries are no duplicates
}

// loopRule asks about loops, and not about duplicates.
const loopRule = "redelivery_loop"

// Concerns reports whether the likely cause of duplicates or of a loop explains the rule: said of any other alert it would be
// a wrong track.
func Concerns(name string) bool { return name == "duplicate_rate" || name == loopRule }
