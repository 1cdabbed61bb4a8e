package alerts

import (
	"time"

	"dedup-dashboard/internal/alerts/rule"
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

// A State is the life of an alert so far. The zero value is that of one that was never evaluated.
type State struct {
	Phase Phase
	// Tier is what fires; normal while nothing does.
	Tier dedup.Tier
	// Since is when phase or tier last changed, FiredAt when it began to fire; zero while it does not.
	Since, FiredAt time.Time
	// TierSince is since when it fires at Tier; zero while it does not fire, and where that is from before it was kept.
	TierSince time.Time
	// Reached is since when warning, severe and emergency have been reached without a break; zero for those that are not.
	Reached [3]time.Time
	// Below is since when warning, severe and emergency have not been held without a break, of those up to the tier that fires; zero
	// for those that are held, and above it. A state that was kept without it begins to recover anew.
	Below [3]time.Time
	// Health is that of the newest evaluation, HealthSince when it last changed, Seen when the newest one was.
	Health            rule.Health
	HealthSince, Seen time.Time
	// Blind is since when no evaluation has been OK, for whatever reasons; zero while they are.
	Blind time.Time
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

const (
	// gapLeast is how long no evaluation must have come for the evaluations to have paused, or lateAfter intervals where that is
	// longer: several are missing then.
	gapLeast = time.Minute
	// resumeFor is how long after a pause a further evaluation must confirm what was reached before it.
	resumeFor = 10 * time.Second
)

// Fires reports whether an alert fires, recovering or not.
func (s State) Fires() bool { return s.Phase == PhaseFiring || s.Phase == PhaseRecovering }

// Calm is since when the value has been below what holds the tier that fires; zero while it is not.
func (s State) Calm() time.Time {
	if s.Tier <= dedup.Normal {
		return time.Time{}
	}
	return s.Below[s.Tier-dedup.Warning]
}

// Falls returns to which tier an alert that recovers falls next and when, where its value stays what it is; false where it falls to none.
func (s State) Falls(t rule.Timing) (to dedup.Tier, at time.Time, ok bool) {
	since := s.Calm()
	if since.IsZero() {
		return dedup.Normal, time.Time{}, false
	}
	for to = s.Tier - 1; to > dedup.Normal && s.Below[to-dedup.Warning].Equal(since); {
		to--
	}
	return to, since.Add(t.KeepFiring), true
}

// Next returns the life of an alert after one more evaluation, and the edge if there is one. It is pure: state and evaluations
// decide alone, so that a restart between any two of them changes nothing.
//
// An evaluation that is not OK changes neither phase nor tier. A clock that was set back stands still: what was reached keeps the
// span that it had. Over a pause of evaluations of at most an hour spans go on, but one that began before it needs a further
// evaluation to have an effect; after a longer pause they begin anew. What fires stays firing.
func (s State) Next(e rule.Evaluation, t rule.Timing) (State, Edge, bool) {
	e.At = e.At.Round(0) // without the monotonic reading, which does not outlive a restart
	if s.Tier == dedup.TierUnknown {
		s.Tier = dedup.Normal
	}
	if e.Health == rule.HealthOK && e.Enters == dedup.TierUnknown { // no data is never normal
		e.Health = rule.HealthNoData
	}
	s = s.sinceLast(e)
	if e.Health != rule.HealthOK {
		return s, Edge{}, false
	}
	s = s.reach(e)
	was, phase := s.Tier, s.Phase
	switch tier := s.due(e.At, t); {
	case tier > s.Tier:
		s = s.rise(tier, e.At)
	case s.Tier > dedup.Normal:
		s = s.fall(e, t)
	default:
		s.Phase = PhaseNormal
		if e.Enters > dedup.Normal {
			s.Phase = PhasePending
		}
	}
	if s.Tier != was || s.Phase != phase || s.Since.IsZero() {
		s.Since = e.At
	}
	if !s.Resumed.IsZero() && e.At.Sub(s.Resumed) >= resumeFor {
		s.Resumed = time.Time{}
	}
	if s.Tier == was {
		return s, Edge{}, false
	}
	if s.TierSince = e.At; s.Tier <= dedup.Normal {
		s.TierSince = time.Time{}
	}
	return s, Edge{Kind: edgeKind(was, s.Tier), From: was, To: s.Tier, At: e.At}, true
}

// sinceLast follows the clock and the health from the evaluation before to this one.
func (s State) sinceLast(e rule.Evaluation) State {
	first, blind := s.Seen.IsZero(), time.Duration(0)
	if !first && e.At.Before(s.Seen) {
		s = s.shifted(e.At.Sub(s.Seen))
	}
	paused := !first && e.At.Sub(s.Seen) > max(gapLeast, lateAfter*e.Interval)
	if !s.Blind.IsZero() {
		blind = e.At.Sub(s.Blind)
	}
	if !first && max(e.At.Sub(s.Seen), blind) > rule.LongestPause {
		s.Reached, s.Below, s.Resumed = [3]time.Time{}, [3]time.Time{}, time.Time{}
	}
	failed := s.Health != rule.HealthOK
	if e.Health == rule.HealthOK && (s.Resumed.IsZero() && (paused || failed) || failed && s.beganSince(s.Resumed)) {
		s.Resumed = e.At
	}
	switch {
	case e.Health == rule.HealthOK:
		s.Blind = time.Time{}
	case s.Blind.IsZero():
		s.Blind = e.At
	}
	if first || s.Health != e.Health {
		s.Health, s.HealthSince = e.Health, e.At
	}
	s.Seen = e.At
	return s
}

// Changed reports whether it fires at another tier than the one that it began to fire at, or at that one again.
func (s State) Changed() bool { return s.Tier > dedup.Normal && s.TierSince.After(s.FiredAt) }

// Began returns since when a tier has been reached, or when it began to fire where that was before; zero where neither is known.
func (s State) Began() time.Time {
	began := s.FiredAt
	for _, at := range s.Reached {
		if !at.IsZero() && (began.IsZero() || at.Before(began)) {
			began = at
		}
	}
	return began
}

// beganSince reports whether a span began at a time or later: what was seen once only, between two failures, has yet to be confirmed. A
// span that began before was seen on both sides of a failure, and a source that goes on failing must not hold it up for ever. Of a tier
// that fires it matters for how long it has not been held, of a higher one for how long it has been reached.
func (s State) beganSince(at time.Time) bool {
	for i, span := range s.Reached {
		if dedup.Warning+dedup.Tier(i) <= s.Tier {
			span = s.Below[i]
		}
		if !span.IsZero() && !span.Before(at) {
			return true
		}
	}
	return false
}

// shifted moves every time of the state: the clock that they were taken from was set.
func (s State) shifted(by time.Duration) State {
	for _, at := range []*time.Time{&s.Since, &s.FiredAt, &s.TierSince, &s.Reached[0], &s.Reached[1], &s.Reached[2], &s.Below[0], &s.Below[1], &s.Below[2],
		&s.HealthSince, &s.Seen, &s.Blind, &s.Resumed} {
		if !at.IsZero() {
			*at = at.Add(by)
		}
	}
	return s
}

// reach notes since when each tier has been reached.
func (s State) reach(e rule.Evaluation) State {
	for i := range s.Reached {
		switch tier := dedup.Warning + dedup.Tier(i); {
		case e.Enters < tier:
			s.Reached[i] = time.Time{}
		case s.Reached[i].IsZero():
			s.Reached[i] = e.At
		}
	}
	return s
}

// due returns the highest tier that was reached for long enough to fire; normal where none was.
func (s State) due(at time.Time, t rule.Timing) dedup.Tier {
	for tier := dedup.Emergency; tier >= dedup.Warning; tier-- {
		if s.lasted(s.Reached[tier-dedup.Warning], at, t.For(tier)) {
			return tier
		}
	}
	return dedup.Normal
}

// lasted reports whether a span that began at since is long enough. Where evaluations paused in it, the end of the pause must have
// been confirmed.
func (s State) lasted(since, at time.Time, least time.Duration) bool {
	if since.IsZero() || at.Sub(since) < least {
		return false
	}
	return s.Resumed.IsZero() || !since.Before(s.Resumed) || at.Sub(s.Resumed) >= resumeFor
}

// rise fires, or escalates what fires.
func (s State) rise(tier dedup.Tier, at time.Time) State {
	if s.Tier == dedup.Normal {
		s.FiredAt = at
	}
	s.Phase, s.Tier, s.Below = PhaseFiring, tier, [3]time.Time{}
	return s
}

// fall lets the tier that fires fall to the highest one that was held of late: each keeps firing for a time of its own.
func (s State) fall(e rule.Evaluation, t rule.Timing) State {
	holds := max(e.Holds, e.Enters)
	for tier := dedup.Warning; tier <= s.Tier; tier++ {
		switch below := &s.Below[tier-dedup.Warning]; {
		case holds >= tier:
			*below = time.Time{}
		case below.IsZero():
			*below = e.At
		}
	}
	for s.lasted(s.Calm(), e.At, t.KeepFiring) {
		s.Below[s.Tier-dedup.Warning] = time.Time{}
		s.Tier--
	}
	switch {
	case s.Tier == dedup.Normal:
		s.Phase, s.FiredAt = PhaseNormal, time.Time{}
	case holds >= s.Tier:
		s.Phase = PhaseFiring
	default:
		s.Phase = PhaseRecovering
	}
	return s
}

// edgeKind names the change from one tier to another.
func edgeKind(from, to dedup.Tier) EdgeKind {
	switch {
	case from <= dedup.Normal:
		return EdgeFired
	case to <= dedup.Normal:
		return EdgeResolved
	case to > from:
		return EdgeEscalated
	default:
		return EdgeDeescalated
	}
}
