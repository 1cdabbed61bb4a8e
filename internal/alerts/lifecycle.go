package alerts

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// A Phase is where an alert is in its life.
type Phase uint8

// The phases in the order of a life.
const (
	// PhaseNormal: nothing is amiss, or not for long enough to count as pending.
	PhaseNormal Phase = iota
	// PhasePending: a tier is reached, and not for as long as it takes to fire.
	PhasePending
	// PhaseFiring: the alert fires at its tier; a higher one may be pending beside it.
	PhaseFiring
	// PhaseRecovering: it fires, and the value has been below what holds its tier, not for long enough yet.
	PhaseRecovering
)

// String returns the word that pages and the API use.
func (p Phase) String() string {
	switch p {
	case PhasePending:
		return "pending"
	case PhaseFiring:
		return "firing"
	case PhaseRecovering:
		return "recovering"
	default:
		return "normal"
	}
}

// Timing says how long a tier must be reached before it fires, and how long what holds it must be gone before it falls.
type Timing struct {
	Warning, Severe, Emergency time.Duration
	KeepFiring                 time.Duration
}

// An Evaluation is what the lifecycle sees of a judgement.
type Evaluation struct {
	At            time.Time
	Enters, Holds dedup.Tier
	Health        Health
}

// A State is the life of an alert so far. The zero value is that of one that was never evaluated.
type State struct {
	Phase Phase
	// Tier is what fires; normal while nothing does.
	Tier dedup.Tier
	// Since is when phase or tier last changed, FiredAt when it began to fire; zero while it does not.
	Since, FiredAt time.Time
	// Reached is since when warning, severe and emergency have been reached without a break; zero for those that are not.
	Reached [3]time.Time
	// Calm is since when the value has been below what holds the tier; zero while it is not.
	Calm time.Time
	// Health is that of the newest evaluation, HealthSince when it last changed, Seen when the newest one was.
	Health            Health
	HealthSince, Seen time.Time
	// Resumed is when evaluations went on after a gap: nothing fires by the time of the gap alone. Zero otherwise.
	Resumed time.Time
}

// An EdgeKind is what happened to an alert.
type EdgeKind string

// The kinds of edges.
const (
	EdgeFired       EdgeKind = "fired"
	EdgeEscalated   EdgeKind = "escalated"
	EdgeDeescalated EdgeKind = "deescalated"
	EdgeResolved    EdgeKind = "resolved"
)

// An Edge is a change of the tier that fires. Those of one alert alternate: after it fired it may escalate and de-escalate, and then
// resolves before it fires again.
type Edge struct {
	Kind     EdgeKind
	From, To dedup.Tier
	At       time.Time
}
