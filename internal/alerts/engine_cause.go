package alerts

import (
	"time"

	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/alerts/rule"
)

// explain gives the alert the cause of what it fires for. One that can be told of no more is kept.
func (en *entry) explain(j rule.Judgement, round judged) {
	if en.State.Phase == PhaseNormal {
		en.cause = cause.Cause{}
		return
	}
	if j.Key.Kind != rule.OfPipeline || round.late != "" {
		return
	}
	p, ok := round.snapshot.Pipeline(j.Key.Subject)
	if !ok {
		return
	}
	if c, ok := cause.Explain(j, round.snapshot, p, en.told(), en.State.Began()); ok {
		en.cause, en.Cause = c, c.Sentence(time.UTC) // as all times of notifications
	}
}

// told is what Cause says; without a kind and events where it was said before a restart.
func (en *entry) told() cause.Cause { return toldOr(en.cause, en.Cause) }

func (a *AlertView) told() cause.Cause { return toldOr(a.cause, a.Cause) }

func toldOr(c cause.Cause, kept string) cause.Cause {
	if c.Kind == "" {
		return cause.Kept(kept)
	}
	return c
}

// CauseIn is Cause with times in the zone. What was said before a restart keeps its times in UTC.
func (a *AlertView) CauseIn(zone *time.Location) string { return a.told().Sentence(zone) }

// CausesOfPipelines returns of each pipeline the cause that its worst alert about duplicates or loops gives, of those that fire, recover
// or are pending. Who tells it to others says the same as the notifications.
func (v *View) CausesOfPipelines() map[string]cause.Cause {
	told := make(map[string]cause.Cause)
	for _, a := range v.Alerts {
		if a.Key.Kind != rule.OfPipeline || a.State.Phase == PhaseNormal || a.Cause == "" || !cause.Concerns(a.Key.Rule) {
			continue
		}
		if _, ok := told[a.Key.Subject]; !ok { // they are the worst first
			told[a.Key.Subject] = a.told()
		}
	}
	return told
}
