package alerts

import (
	"slices"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// causeHold is how long a cause is kept that figures showed, and neither show nor exclude any more.
const causeHold = 5 * time.Minute

// vague reports whether a cause names nothing that anybody could mend.
func (k CauseKind) vague() bool {
	switch k {
	case "", CauseUnexplained, CauseRedeliveries, CauseLoop, CauseOutage:
		return true
	}
	return false
}

// hold keeps the producer as the cause for a while where the split leaves it open, which widens and narrows with each pass over a
// store; and the time of the rise, which is an estimate.
func (s scene) hold(c Cause) Cause {
	last := s.last
	if c.Kind == last.Kind && !c.Rose.IsZero() && !last.Rose.IsZero() && len(c.Events) == 0 && c.Rose.Sub(last.Rose).Abs() <= causeLead {
		c.Rose = last.Rose
	}
	if last.Kind != CauseProducer || !c.Kind.vague() || s.split.redelivered(mostly) || c.shown.Sub(last.shown) > causeHold {
		return c
	}
	last.held = true
	return last
}

// causes finds the likely cause of what is amiss with a pipeline.
type causes struct {
	snapshot *dedup.Snapshot
	late     bool
}

// explain gives the alert the cause of what it fires for. One that can be told of no more is kept.
func (en *entry) explain(r *rule.Rule, j rule.Judgement, c *causes) {
	if en.State.Phase == PhaseNormal {
		en.cause = Cause{}
		return
	}
	if j.Key.Kind != rule.OfPipeline || c.late {
		return
	}
	p, ok := c.snapshot.Pipeline(j.Key.Subject)
	if !ok {
		return
	}
	told, ok := c.of(r, j, p, en.cause)
	if !ok {
		told = en.cause
	}
	restored := !ok && told.Kind == "" && en.Cause != "" // before a restart a better one may have been known
	lost, down := outageOf(p.Down)
	if down && told.Kind.vague() && !restored && (lost.mayBeBehind(en.State) || told.lost.source == lost.source) {
		told = Cause{Kind: CauseOutage, lost: lost}
	}
	if told.Kind == CauseOutage {
		told.lost = told.lost.over(c.snapshot.Sources)
	}
	if told.Kind != "" {
		en.cause, en.Cause = told, told.Sentence(time.UTC) // as all times of notifications
	}
}

// of returns the cause that explains an alert about duplicates or loops, and false where nothing can be told now.
func (c *causes) of(r *rule.Rule, j rule.Judgement, p *dedup.PipelineStatus, last Cause) (Cause, bool) {
	if j.Health != rule.HealthOK || j.Enters <= dedup.Normal || !aboutDuplicates(r.Name) {
		return Cause{}, false
	}
	if r.Name == loopRule { // the cause of duplicates would be a wrong track
		told, _, ok := loopCause(p, rule.JudgedWindow(p))
		return told, ok
	}
	if _, ok := likelyCause(p, nil, last); !ok { // the events of most pipelines need not be joined
		return Cause{}, false
	}
	return likelyCause(p, c.snapshot.EventsOf(p), last)
}

// loopRule asks about loops, and not about duplicates.
const loopRule = "redelivery_loop"

// aboutDuplicates reports whether the likely cause of duplicates or of a loop explains the rule: said of any other alert it would be
// a wrong track.
func aboutDuplicates(rule string) bool { return rule == "duplicate_rate" || rule == loopRule }

// told is what Cause says; without a kind and events where it was said before a restart.
func (a *AlertView) told() Cause {
	if a.cause.Kind == "" {
		return Cause{kept: a.Cause}
	}
	return a.cause
}

// CauseIn is Cause with times in the zone. What was said before a restart keeps its times in UTC.
func (a *AlertView) CauseIn(zone *time.Location) string { return a.told().Sentence(zone) }

// CausesOfPipelines returns of each pipeline the cause that its worst alert about duplicates or loops gives, of those that fire, recover
// or are pending. Who tells it to others says the same as the notifications.
func (v *View) CausesOfPipelines() map[string]Cause {
	told := make(map[string]Cause)
	for _, a := range v.Alerts {
		if a.Key.Kind != rule.OfPipeline || a.State.Phase == PhaseNormal || a.Cause == "" || !aboutDuplicates(a.Key.Rule) {
			continue
		}
		if _, ok := told[a.Key.Subject]; !ok { // they are the worst first
			told[a.Key.Subject] = a.told()
		}
	}
	return told
}

// An outage is a source of a pipeline that cannot be read.
type outage struct {
	source, why string
	// since is when it was first missed, answered when it last answered, ended when it answered again; zero where it did not.
	since, answered, ended time.Time
}

// outageOf is the source that is down, of several the store first: without it consumers do not work. One that was not tried yet is not.
func outageOf(down []dedup.SourceHealth) (outage, bool) {
	for _, kind := range []string{"store", "broker", "totals", "reported"} {
		if i := slices.IndexFunc(down, func(h dedup.SourceHealth) bool { return h.Kind == kind && h.Tried && !h.OK }); i >= 0 {
			h := down[i]
			o := outage{source: h.Name, why: quoted(dedup.Event{Text: h.Err}), since: h.Since, answered: h.LastSuccess}
			if o.since.IsZero() {
				o.since = h.LastTry
			}
			return o, true
		}
	}
	return outage{}, false
}

// mayBeBehind reports whether an alert began after the source answered for the last time, or if it never did was first missed: else it
// has another reason.
func (o outage) mayBeBehind(s State) bool {
	began := s.Began()
	last := o.answered
	if last.IsZero() {
		last = o.since
	}
	return began.IsZero() || !began.Before(last)
}

// over notes when the source answered again.
func (o outage) over(sources []dedup.SourceHealth) outage {
	i := slices.IndexFunc(sources, func(h dedup.SourceHealth) bool { return h.Name == o.source })
	if i >= 0 && sources[i].OK && !sources[i].Since.Before(o.since) {
		o.ended = sources[i].Since
	}
	return o
}

func (o outage) sentence(zone *time.Location) string {
	said := o.source + " cannot be read"
	if !o.ended.IsZero() {
		said = o.source + " could not be read from " + o.since.In(zone).Format(time.TimeOnly) + " to " + o.ended.In(zone).Format(time.TimeOnly)
	} else if !o.since.IsZero() {
		said += " since " + o.since.In(zone).Format(time.TimeOnly)
	}
	if o.why != "" {
		said += " (" + o.why + ")"
	}
	return text.Capitalised(said) + "."
}
