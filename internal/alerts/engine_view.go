package alerts

import (
	"slices"
	"time"

	"dedup-dashboard/internal/alerts/rule"
)

// publish publishes the view of a turn that was kept, and reports whether it says something new.
func (e *Engine) publish(at time.Time, took time.Duration, errs []string) bool {
	before := e.view.Load()
	v := e.newView(at, took, errs)
	e.view.Store(v)
	return news(before, v)
}

func (e *Engine) newView(at time.Time, took time.Duration, errs []string) *View {
	v := &View{At: at, Took: took, Interval: e.deps.Interval, Rules: e.view.Load().Rules, Silences: pending(e.silences.now(), at),
		Errors: slices.Clone(errs), Evaluations: e.stats.evaluations, FailedCommits: e.stats.failedCommits}
	views := make([]AlertView, len(e.order))
	v.Alerts = make([]*AlertView, len(e.order))
	for i, en := range e.order {
		views[i] = AlertView{Alert: en.Alert, Rule: en.rule, History: slices.Clip(en.history), cause: en.cause}
		if en.rule == nil {
			views[i].Rule = &rule.Rule{Name: en.Key.Rule, Kind: en.Key.Kind}
		}
		v.Alerts[i] = &views[i]
	}
	v.summarise()
	return v
}

// pending returns the silences that have not ended.
func pending(silences []Silence, at time.Time) []Silence {
	return slices.DeleteFunc(slices.Clone(silences), func(s Silence) bool { return s.Expired(at) })
}

// news reports whether a page that shows one view has to be drawn again for the other: something changed, or is not calm.
func news(before, now *View) bool {
	if len(before.Alerts) != len(now.Alerts) || len(before.Silences) != len(now.Silences) || !slices.Equal(before.Errors, now.Errors) {
		return true
	}
	for i, a := range now.Alerts {
		if a.State.Phase != PhaseNormal && a.Key.Rule != RuleWatchdog {
			return true
		}
		b := before.Alerts[i]
		if a.Key != b.Key || a.State.Phase != b.State.Phase || a.State.Tier != b.State.Tier || a.State.Health != b.State.Health {
			return true
		}
	}
	return false
}

// publishErrors publishes what was known before with what keeps the engine from its work, and reports whether that is news. It is
// called with the lock held.
func (e *Engine) publishErrors(errs []string) bool {
	v := *e.view.Load()
	fresh := !slices.Equal(v.Errors, errs)
	v.Errors = slices.Clone(errs)
	v.Evaluations, v.FailedCommits = e.stats.evaluations, e.stats.failedCommits
	e.view.Store(&v)
	return fresh
}

// complain publishes an error from outside a turn.
func (e *Engine) complain(why string) {
	e.mu.Lock()
	fresh := e.publishErrors([]string{why})
	e.mu.Unlock()
	if fresh {
		e.deps.Changed(topicAlerts)
	}
}

// republish publishes what somebody changed between two turns. What the journal has not taken yet is not shown.
func (e *Engine) republish(at time.Time) {
	old := e.view.Load()
	for _, en := range e.order {
		en.Silences = e.silencesOf(&en.Alert, at)
	}
	if len(e.unkept) > 0 || old.At.IsZero() {
		v := *old
		v.Silences = pending(e.silences.now(), at)
		e.view.Store(&v)
		return
	}
	e.view.Store(e.newView(old.At, old.Took, old.Errors))
}
