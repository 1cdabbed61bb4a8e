package alerts

import (
	"cmp"
	"slices"
	"time"

	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// historyKept is how many evaluations of each alert are kept, so that a page can answer why.
const historyKept = 20

// An Evaluated is one evaluation of an alert as it is kept.
type Evaluated struct {
	At time.Time
	// Value and N are those of the judgement; both are 0 where Health is not HealthOK.
	Value, N      float64
	Enters, Holds dedup.Tier
	Health        rule.Health
	// Phase and Tier are those that the evaluation led to.
	Phase Phase
	Tier  dedup.Tier
	// Why says why there was nothing to judge; empty where Health is HealthOK.
	Why string
}

// An AlertView is an alert as pages show it. It is shared and must not be changed.
type AlertView struct {
	Alert
	// Rule is the one that holds for the subject; its name alone is set where the rule is gone.
	Rule *rule.Rule
	// History are the last evaluations, oldest first, at most 20; they begin anew with the process.
	History []Evaluated
	cause   cause.Cause
}

// Pending is the worst tier that is reached and does not fire yet; unknown where there is none.
func (a *AlertView) Pending() dedup.Tier {
	for t := dedup.Emergency; t > a.State.Tier && t >= dedup.Warning; t-- {
		if !a.State.Reached[t-dedup.Warning].IsZero() {
			return t
		}
	}
	return dedup.TierUnknown
}

// Stale reports whether what the alert rests on cannot be told now: its tier is that of before.
func (a *AlertView) Stale() bool { return a.State.Health != rule.HealthOK }

// Attended reports whether somebody acknowledged or silenced the alert.
func (a *AlertView) Attended() bool { return a.Ack != nil || len(a.Silences) > 0 }

// SourceDown reports whether the alert says that a source cannot be read now: also one that fell silent again before it was over. Of
// one that answers the value is zero.
func (a *AlertView) SourceDown() bool {
	return a.Key.Rule == RuleUnreachable && (a.State.Phase == PhaseFiring || a.State.Phase == PhaseRecovering && a.Last.Value > 0)
}

// RestsOn reports whether the alert cannot be told because the source of another one cannot be read.
func (a *AlertView) RestsOn(source *AlertView) bool {
	return a != source && a.State.Health == rule.HealthError && slices.Contains(a.Last.Unread, string(source.Key.Kind)+" "+source.Key.Subject)
}

// A View is the engine at one time. It is immutable.
type View struct {
	// At is the last evaluation that was kept; zero before the first. Took is how long it took, Interval the time between two.
	At       time.Time
	Took     time.Duration
	Interval time.Duration
	// Alerts are the worst first: firing, pending, unknown, then those that are normal.
	Alerts []*AlertView
	// Rules are all that are judged, also those that are switched off, in the order of the configuration.
	Rules []rule.Rule
	// Silences are those that hold or will hold.
	Silences []Silence
	// Worst is the worst tier that fires, Unattended that of the alerts that are neither acknowledged nor silenced; normal while
	// nothing fires, unknown before the first evaluation. The watchdog counts for neither.
	Worst, Unattended dedup.Tier
	// Firing counts the alerts that fire, without the watchdog.
	Firing int
	// Errors say what keeps the engine from its work; empty when all is well.
	Errors []string
	// Evaluations and FailedCommits count since the process began.
	Evaluations, FailedCommits uint64
}

// Alert returns the alert of a key, and false where there is none.
func (v *View) Alert(k rule.Key) (*AlertView, bool) {
	for _, a := range v.Alerts {
		if a.Key == k {
			return a, true
		}
	}
	return nil, false
}

// FiringOfPipelines returns the worst alert of each pipeline of which one fires, acknowledged and silenced ones too. One that recovers
// is not among them: its value is well below what holds its tier.
func (v *View) FiringOfPipelines() map[string]*AlertView {
	worst := make(map[string]*AlertView)
	for _, a := range v.Alerts {
		if a.Key.Kind != rule.OfPipeline || a.State.Phase != PhaseFiring {
			continue
		}
		if old := worst[a.Key.Subject]; old == nil || a.State.Tier > old.State.Tier {
			worst[a.Key.Subject] = a
		}
	}
	return worst
}

// summarise sorts the alerts and fills in what follows from them.
func (v *View) summarise() {
	slices.SortStableFunc(v.Alerts, worstFirst)
	v.Worst, v.Unattended = dedup.Normal, dedup.Normal
	if v.At.IsZero() {
		v.Worst, v.Unattended = dedup.TierUnknown, dedup.TierUnknown
	}
	for _, a := range v.Alerts {
		if !a.State.Fires() || a.Key.Rule == RuleWatchdog {
			continue
		}
		v.Firing++
		v.Worst = max(v.Worst, a.State.Tier)
		if !a.Attended() {
			v.Unattended = max(v.Unattended, a.State.Tier)
		}
	}
}

// worstFirst orders alerts for a list: what fires by its tier, of one tier first the sources that cannot be read, which are behind much of
// the rest, and what recovers last; then what is pending, then what is unknown. Among equals those that nobody attends to come first,
// then the oldest.
func worstFirst(a, b *AlertView) int {
	ra, rb := rank(a), rank(b)
	if ra != rb || ra == rankNormal {
		return ra - rb
	}
	if a.Attended() != b.Attended() {
		if b.Attended() {
			return -1
		}
		return 1
	}
	return cmp.Or(a.State.Since.Compare(b.State.Since), cmp.Compare(a.Key.Rule, b.Key.Rule), cmp.Compare(a.Key.Subject, b.Key.Subject))
}

const rankNormal = 15

func rank(a *AlertView) int {
	switch {
	case a.Key.Rule == RuleWatchdog:
		return rankNormal - 1
	case a.SourceDown():
		return 3 * int(dedup.Emergency-a.State.Tier)
	case a.State.Phase == PhaseFiring:
		return 3*int(dedup.Emergency-a.State.Tier) + 1
	case a.State.Phase == PhaseRecovering:
		return 3*int(dedup.Emergency-a.State.Tier) + 2
	case a.State.Phase == PhasePending:
		return 9 + int(dedup.Emergency-a.Pending())
	case a.State.Health != rule.HealthOK:
		return 13
	default:
		return rankNormal
	}
}

// remember adds an evaluation to a history and returns it. What was handed out before is never written to: it shares the memory
// below its own length only.
func remember(history []Evaluated, a *Alert) []Evaluated {
	e := Evaluated{At: a.Last.At, Enters: a.Last.Enters, Holds: a.Last.Holds, Health: a.Last.Health, Phase: a.State.Phase, Tier: a.State.Tier}
	if e.Health == rule.HealthOK {
		e.Value, e.N = a.Last.Value, a.Last.N
	} else {
		e.Why = a.Last.Why
	}
	if len(history) >= historyKept {
		history = history[len(history)-historyKept+1:]
	}
	return append(history, e)
}
