package alerts

// What stands in this file stands in for what others write: it is dropped when their work is merged.

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A NoDataPolicy says what a rule makes of a subject without data. An evaluation that fails never changes anything.
type NoDataPolicy string

// The policies. The empty one is NoDataKeep.
const (
	// NoDataKeep: the alert stays as it is.
	NoDataKeep NoDataPolicy = "keep"
	// NoDataFire: it counts as the lowest tier of the rule, and a higher one that fires stays.
	NoDataFire NoDataPolicy = "fire"
	// NoDataOK: it counts as normal.
	NoDataOK NoDataPolicy = "ok"
)

// A Rule says when which tier fires for one kind of subject. Exactly one of Measure, Findings, Expr, and Numerator with
// Denominator gives its value.
type Rule struct {
	// Name is unique and stable: it is part of the key of every alert.
	Name  string
	Title string
	// Kind is what it judges; empty where its measure names the kind of each subject.
	Kind SubjectKind
	// Meaning says in one sentence what it means that it fires, Step what to do first, Runbook where to read more.
	Meaning, Step, Runbook string
	Unit                   dedup.Unit
	Timing                 Timing
	// MinCount is how many events a ratio must rest on; below it the next longer window is judged.
	MinCount float64
	NoData   NoDataPolicy
	Limits   RuleLimits
	// Match are the labels of the subjects that it holds for, all of them where it is empty. Except are those of more specific
	// variants of the same rule, which judge in its place; Resolve fills it in.
	Match    map[string]string
	Except   []map[string]string
	Disabled bool

	// Measure names a measure of the snapshot.
	Measure string
	// Findings are kinds of findings, which bring their own tiers, or EveryOtherFinding alone.
	Findings []string
	// Expr is PromQL with one value per subject.
	Expr string
	// Numerator and Denominator are PromQL with one value per subject each, with $window for the span that is judged: 15 m,
	// else 1 h, else 24 h, the first whose denominator reaches MinCount.
	Numerator, Denominator string

	// others are the rules to which EveryOtherFinding leaves their kinds of findings.
	others []Rule
	// kinds are, in others, the kinds of findings that the rule judges.
	kinds []string
	// replaced is true of a built-in rule that one of the configuration overrides for all subjects.
	replaced bool
}

// DefaultTiming is that of a rule that gives none.
func DefaultTiming() Timing {
	return Timing{Warning: 2 * time.Minute, Severe: 2 * time.Minute, Emergency: time.Minute, KeepFiring: 5 * time.Minute}
}

// Covers reports whether the rule judges a subject with these labels, and no more specific variant of it does.
func (r Rule) Covers(labels map[string]string) bool {
	if !carries(labels, r.Match) {
		return false
	}
	for _, more := range r.Except {
		if carries(labels, more) {
			return false
		}
	}
	return true
}

// carries reports whether each of the wanted labels is there with its value.
func carries(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if got, there := labels[name]; !there || got != value {
			return false
		}
	}
	return true
}

// Evaluation returns what the lifecycle sees of a judgement by this rule: where there is no data, the rule's policy decides.
func (r Rule) Evaluation(j Judgement) Evaluation {
	e := Evaluation{At: j.At, Enters: j.Enters, Holds: j.Holds, Health: j.Health}
	switch {
	case j.Health == HealthNoData && r.NoData == NoDataFire:
		// What fires at a higher tier is held: that there is no data does not prove that it got better.
		e.Health, e.Enters, e.Holds = HealthOK, r.Limits.lowest(), dedup.Emergency
	case j.Health == HealthNoData && r.NoData == NoDataOK:
		e.Health, e.Enters, e.Holds = HealthOK, dedup.Normal, dedup.Normal
	case j.Health != HealthOK:
		e.Enters, e.Holds = dedup.TierUnknown, dedup.TierUnknown
	}
	return e
}

// Judge judges every subject of the round that the rule covers, and returns false for a rule that asks the history by PromQL.
func (r Rule) Judge(*Round) ([]Judgement, bool) { return nil, r.Measure != "" || len(r.Findings) > 0 }

// RuleLimits are the limits at which a tier is entered: a value at or above one reaches its tier. A nil one is not given, and its
// tier is never reached.
type RuleLimits struct {
	Warning, Severe, Emergency *float64
	// Leave is the share of a limit below which its tier is left; 0 is the usual 0.8.
	Leave float64
}

// Limit returns a limit for RuleLimits.
func Limit(limit float64) *float64 { return &limit }

// leave returns the value below which a tier is left that is entered at a limit.
func (l RuleLimits) leave(limit float64) float64 {
	if l.Leave == 0 {
		return limit * 8 / 10 // in this order 0.1 becomes 0.08, and not a little more
	}
	return limit * l.Leave
}

func (l RuleLimits) of(t dedup.Tier) *float64 {
	switch t {
	case dedup.Warning:
		return l.Warning
	case dedup.Severe:
		return l.Severe
	case dedup.Emergency:
		return l.Emergency
	default:
		return nil
	}
}

// lowest returns the lowest tier that the limits have; warning where they have none.
func (l RuleLimits) lowest() dedup.Tier {
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		if l.of(t) != nil {
			return t
		}
	}
	return dedup.Warning
}

// tiers judges a value: enters by the limits, holds by the shares of them at which a tier is left. The limit is that of the tier
// entered, and for normal the lowest one, which the value is below.
func (l RuleLimits) tiers(value float64) (enters, holds dedup.Tier, limit float64) {
	return l.decide(value, func(*float64, float64) bool { return true })
}

// ratioTiers judges a ratio over n events like a duplicate rate: beside the value a tier takes three hits, and a Wilson 95 % lower
// bound above the limit of the tier below it, for the lowest tier above half its own.
func (l RuleLimits) ratioTiers(value, n float64) (enters, holds dedup.Tier, limit float64) {
	const leastHits = 3
	hits := math.Round(value * n)
	lower := WilsonLower(hits, n)
	return l.decide(value, func(below *float64, own float64) bool {
		if below == nil {
			return hits >= leastHits && lower > own/2
		}
		return hits >= leastHits && lower > *below
	})
}

// decide finds the highest tier whose limit the value reaches and of which one can be sure, given the limit below it and its own.
func (l RuleLimits) decide(value float64, sure func(below *float64, own float64) bool) (enters, holds dedup.Tier, limit float64) {
	enters, holds = dedup.Normal, dedup.Normal
	var below, left *float64
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		own := l.of(t)
		if own == nil {
			continue
		}
		if below == nil {
			limit = *own
		}
		leave := l.leave(*own)
		if value >= *own && sure(below, *own) {
			enters, limit = t, *own
		}
		if value >= leave && sure(left, leave) { // which is so wherever the tier is entered
			holds = t
		}
		below, left = own, &leave
	}
	return enters, holds, limit
}

// Self is what the engine knows of the dashboard itself. The zero value says that nothing is known, and nothing amiss.
type Self struct {
	// Interval is how often rules are evaluated, LastEvaluation when they were evaluated before this time; zero where never.
	Interval       time.Duration
	LastEvaluation time.Time
	// OutboxOldest is when the oldest notification was put into the outbox that is not delivered yet; zero where none waits.
	// OutboxWaiting counts those that wait.
	OutboxOldest  time.Time
	OutboxWaiting int64
	// DiskFree is the share of the data directory's file system that is free, 0..1; nil where that is not known.
	DiskFree *float64
	// DeliveriesFailed counts the notifications of the last hour that were given up, DeliveryErrors says why, by channel.
	DeliveriesFailed int64
	DeliveryErrors   []string
	// AuditRefused says why the audit log takes no entry; empty while it does.
	AuditRefused string
}

// A Round is what one evaluation of the rules judges.
type Round struct {
	Now      time.Time
	Snapshot *dedup.Snapshot
	Self     Self
	// labels are those of the pipelines, in the order of the snapshot.
	labels []map[string]string
}

// NewRound returns the round of a snapshot; a nil one, as before the first reading, has no subjects but the dashboard.
func NewRound(now time.Time, snapshot *dedup.Snapshot, self Self) *Round {
	in := &Round{Now: now, Snapshot: snapshot, Self: self}
	if snapshot == nil {
		in.Snapshot = &dedup.Snapshot{}
		return in
	}
	for i := range snapshot.Pipelines {
		in.labels = append(in.labels, labelsOfPipeline(&snapshot.Pipelines[i].Pipeline))
	}
	return in
}

// labelsOfPipeline returns the labels that routes, silences and groups match: its own, and the names of what it is made of.
func labelsOfPipeline(p *dedup.Pipeline) map[string]string {
	labels := make(map[string]string, len(p.Labels)+3)
	maps.Copy(labels, p.Labels)
	labels["pipeline"], labels["broker"] = p.Name, p.Broker
	if delete(labels, "store"); p.Store != "" {
		labels["store"] = p.Store
	}
	return labels
}

// stale says that the newest readings are too old to judge by; empty when they are not.
func (in *Round) stale() string {
	const least = 30 * time.Second // a round of a short interval may take longer than three
	age := in.Now.Sub(in.Snapshot.At)
	if in.Snapshot.At.IsZero() || age <= max(3*in.Snapshot.Interval, least) {
		return ""
	}
	return "the newest readings are " + seconds(age) + " old: the dashboard does not finish its rounds, its log says why"
}

// unjudged says why nothing can be told.
func (j Judgement) unjudged(h Health, why string) Judgement {
	j.Health, j.Why = h, why
	j.Enters, j.Holds, j.Value, j.Limit, j.N = dedup.TierUnknown, dedup.TierUnknown, 0, 0, 0
	return j
}

// judged fills in a value, its tiers by the limits of the rule, and value against limit in one line that begins with what it is.
func (j Judgement) judged(r Rule, what string, value float64) Judgement {
	j.Value = value
	j.Enters, j.Holds, j.Limit = r.Limits.tiers(value)
	return j.sentenced(r, what, "")
}

// sentenced says value against limit: what the value is, the limit, and what it rests on.
func (j Judgement) sentenced(r Rule, what, rests string) Judgement {
	j.Why = what
	switch {
	case j.Limit == 0:
	case j.Enters > dedup.Normal:
		j.Why += fmt.Sprintf(", at or above the %s limit of %s", j.Enters, valueText(j.Limit, j.Unit))
	case j.Value >= j.Limit:
		j.Why += ", too few to be sure of more than normal"
	default:
		j.Why += fmt.Sprintf(", below the %s limit of %s", r.Limits.lowest(), valueText(j.Limit, j.Unit))
	}
	j.Why += rests
	return j
}

// valueText writes a value in its unit.
func valueText(v float64, u dedup.Unit) string {
	switch u {
	case dedup.Ratio:
		return percent(v)
	case dedup.Seconds:
		return secondsText(v)
	case dedup.PerHour:
		return shortNumber(v) + " per hour"
	case dedup.Bytes:
		return number(v) + " bytes"
	default:
		return shortNumber(v)
	}
}

// secondsText writes a span of seconds as people say it.
func secondsText(v float64) string {
	switch d := time.Duration(v * float64(time.Second)); {
	case v < 1:
		return millis(v)
	case d >= time.Hour && d%time.Hour != 0:
		return strconv.Itoa(int(d.Minutes())) + " m"
	default:
		return seconds(d)
	}
}

// shortNumber writes a number as it is: rounded to a whole one only where that does not hide it.
func shortNumber(v float64) string {
	if v >= 10 || v == float64(int64(v)) {
		return number(v)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

const (
	// gapLeast is how long no evaluation must have come for the evaluations to have paused: several are missing then.
	gapLeast = time.Minute
	// gapMost is the longest pause over which what is pending stays pending.
	gapMost = time.Hour
	// resumeFor is how long after a pause a further evaluation must confirm what was reached before it.
	resumeFor = 10 * time.Second
)

// of returns how long the tier must be reached before it fires.
func (t Timing) of(tier dedup.Tier) time.Duration {
	switch tier {
	case dedup.Emergency:
		return t.Emergency
	case dedup.Severe:
		return t.Severe
	default:
		return t.Warning
	}
}

// Next returns the life of an alert after one more evaluation, and the edge if there is one. It is pure: state and evaluations
// decide alone, so that a restart between any two of them changes nothing.
//
// An evaluation that is not OK changes neither phase nor tier. A clock that was set back stands still: what was reached keeps the
// span that it had. Over a pause of evaluations of at most an hour spans go on, but one that began before it needs a further
// evaluation to have an effect; after a longer pause they begin anew. What fires stays firing.
func (s State) Next(e Evaluation, t Timing) (State, Edge, bool) {
	e.At = e.At.Round(0) // without the monotonic reading, which does not outlive a restart
	if s.Tier == dedup.TierUnknown {
		s.Tier = dedup.Normal
	}
	if e.Health == HealthOK && e.Enters == dedup.TierUnknown { // no data is never normal
		e.Health = HealthNoData
	}
	s = s.sinceLast(e)
	if e.Health != HealthOK {
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
	return s, Edge{Kind: edgeKind(was, s.Tier), From: was, To: s.Tier, At: e.At}, true
}

// sinceLast follows the clock and the health from the evaluation before to this one.
func (s State) sinceLast(e Evaluation) State {
	first, blind := s.Seen.IsZero(), time.Duration(0)
	if !first && e.At.Before(s.Seen) {
		s = s.shifted(e.At.Sub(s.Seen))
	}
	paused := !first && e.At.Sub(s.Seen) > gapLeast
	if s.Health != HealthOK {
		blind = e.At.Sub(s.HealthSince)
	}
	if !first && max(e.At.Sub(s.Seen), blind) > gapMost {
		s.Reached, s.Calm, s.Resumed = [3]time.Time{}, time.Time{}, time.Time{}
	}
	if e.Health == HealthOK && s.Resumed.IsZero() && (paused || s.Health != HealthOK) {
		s.Resumed = e.At
	}
	if first || s.Health != e.Health {
		s.Health, s.HealthSince = e.Health, e.At
	}
	s.Seen = e.At
	return s
}

// shifted moves every time of the state: the clock that they were taken from was set.
func (s State) shifted(by time.Duration) State {
	for _, at := range []*time.Time{&s.Since, &s.FiredAt, &s.Reached[0], &s.Reached[1], &s.Reached[2], &s.Calm, &s.HealthSince, &s.Seen, &s.Resumed} {
		if !at.IsZero() {
			*at = at.Add(by)
		}
	}
	return s
}

// reach notes since when each tier has been reached.
func (s State) reach(e Evaluation) State {
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
func (s State) due(at time.Time, t Timing) dedup.Tier {
	for tier := dedup.Emergency; tier >= dedup.Warning; tier-- {
		if s.lasted(s.Reached[tier-dedup.Warning], at, t.of(tier)) {
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
	s.Phase, s.Tier, s.Calm = PhaseFiring, tier, time.Time{}
	return s
}

// fall lets the tier that fires fall to the one that the value still holds, once it has been below for long enough.
func (s State) fall(e Evaluation, t Timing) State {
	holds := max(e.Holds, e.Enters)
	if holds >= s.Tier {
		s.Phase, s.Calm = PhaseFiring, time.Time{}
		return s
	}
	if s.Calm.IsZero() {
		s.Calm = e.At
	}
	s.Phase = PhaseRecovering
	if !s.lasted(s.Calm, e.At, t.KeepFiring) {
		return s
	}
	s.Phase, s.Tier, s.Calm = PhaseFiring, holds, time.Time{}
	if holds <= dedup.Normal {
		s.Phase, s.Tier, s.FiredAt = PhaseNormal, dedup.Normal, time.Time{}
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

// Sent is what a channel was last told of an alert.
type Sent struct {
	Channel string
	Key     Key
	Tier    dedup.Tier
	At      time.Time
}
