package alerts

import (
	"strings"

	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// A Verdict is what one pipeline amounts to now: the verdict on its figures and findings, raised by what fires.
type Verdict struct {
	rule.Verdict
	// Cause is the likely cause that an alert about duplicates or loops gives; see View.CausesOfPipelines. Empty where none does.
	Cause cause.Cause
	// Alert is the firing alert that raised the tier above that of figures and findings; nil where none did.
	Alert *AlertView
}

// Judge returns the verdict on the figures and the findings of a pipeline.
func Judge(p *dedup.PipelineStatus) Verdict { return Verdict{Verdict: rule.Judge(p)} }

// JudgeWith is Judge, raised to the tier of the worst alert that fires on the pipeline, which may be nil.
func JudgeWith(p *dedup.PipelineStatus, a *AlertView) Verdict {
	v := Judge(p)
	if a == nil || a.State.Tier <= v.Tier {
		return v
	}
	why := a.reason()
	if v.Tier > dedup.Normal || len(p.Down) > 0 {
		why += "; " + v.Why
	}
	v.Tier, v.Possible, v.Why, v.Alert = a.State.Tier, max(a.State.Tier, v.Possible), why, a
	return v
}

// reason says what fires, and value against limit: as it was, where it cannot be told now.
func (a *AlertView) reason() string {
	title := strings.ReplaceAll(a.Key.Rule, "_", " ")
	if a.Rule != nil && a.Rule.Title != "" {
		title = a.Rule.Title
	}
	namesItself := func(why string) bool { return strings.HasPrefix(strings.ToLower(why), strings.ToLower(title)) }
	switch {
	case a.Stale() && namesItself(a.LastOK.Why):
		return "As it was last judged: " + a.LastOK.Why
	case a.Stale() && a.LastOK.Why != "":
		return title + ", as it was last judged: " + a.LastOK.Why
	case namesItself(a.Last.Why):
		return text.Capitalised(a.Last.Why)
	}
	return title + ": " + a.Last.Why
}
