package alerts

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// AtOnce, as a span of a custom rule's Timing, is no time at all: there, 0 says that nothing was given.
const AtOnce time.Duration = -1

// EveryOtherFinding, as the only kind of a rule's findings, stands for all that no other rule of the pipeline judges.
const EveryOtherFinding = "*"

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
	// MinCount is how many events a ratio must rest on; below it the next longer window is judged. Resolve makes it 50 for a Numerator
	// and Denominator of unit ratio that give none. With 1 these ask for no evidence at all.
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

// Tiers are those that it can fire at, the lowest first: those with a limit, and those that its measure or its findings bring.
func (r Rule) Tiers() []dedup.Tier {
	limits := []*float64{r.Limits.Warning, r.Limits.Severe, r.Limits.Emergency}
	brought := measures()[r.Measure].tiers
	var tiers []dedup.Tier
	for i, limit := range limits {
		if t := dedup.Warning + dedup.Tier(i); limit != nil || len(r.Findings) > 0 || slices.Contains(brought, t) {
			tiers = append(tiers, t)
		}
	}
	return tiers
}

// words returns what the rule says to people.
func (r Rule) words() Words { return Words{Title: r.Title, Step: r.Step, Runbook: r.Runbook} }

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
func (r Rule) Judge(in *Round) ([]Judgement, bool) {
	if r.Measure == "" && len(r.Findings) == 0 {
		return nil, false
	}
	judge, ok := Measure(r.Measure)
	if len(r.Findings) > 0 {
		judge, ok = byFindings, true
	}
	if !ok || r.Disabled {
		return nil, true
	}
	return judge(in, r), true
}

// ruleName is how rules are named: as everything else in the configuration, and with the underscores of the built-in ones.
var ruleName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// runbookAddress is what a runbook may be: a web address, or a page of our own documentation.
var runbookAddress = regexp.MustCompile(`^(https?://[^\s/]+(/\S*)?|docs/\S+)$`)

// A RuleError is one mistake in a rule.
type RuleError struct {
	// Rule and Match tell which rule it is, and which of its variants.
	Rule  string
	Match map[string]string
	// Err begins with the field that is at fault, and says how to mend it.
	Err error
}

// Error names the rule.
func (e *RuleError) Error() string { return fmt.Sprintf("rule %q: %s", e.Rule, e.Err) }

// Unwrap returns the mistake without the name of the rule.
func (e *RuleError) Unwrap() error { return e.Err }

// Check returns everything that is wrong with a rule as RuleErrors, joined.
func (r Rule) Check() error {
	var errs []error
	say := func(format string, args ...any) {
		errs = append(errs, &RuleError{r.Name, r.Match, fmt.Errorf(format, args...)})
	}
	if !ruleName.MatchString(r.Name) {
		say("name: write small letters, digits, dots, underscores and hyphens, at most 63, and begin with a letter or digit")
	}
	if len(r.Title) > 120 {
		say("title: it has %d bytes; write at most 120", len(r.Title))
	}
	if r.Runbook != "" && !runbookAddress.MatchString(r.Runbook) { // it becomes a link
		say("runbook: write an address that begins with https:// or http://")
	}
	if !slices.Contains([]dedup.Unit{dedup.Ratio, dedup.Seconds, dedup.Count, dedup.PerHour, dedup.Bytes}, r.Unit) {
		say("unit: %q is none; write ratio, seconds, count, per_hour or bytes", r.Unit)
	}
	if !slices.Contains([]NoDataPolicy{"", NoDataKeep, NoDataFire, NoDataOK}, r.NoData) {
		say("no_data: %q is no policy; write keep, fire or ok", r.NoData)
	}
	if min(r.Timing.Warning, r.Timing.Severe, r.Timing.Emergency, r.Timing.KeepFiring) < 0 {
		say("for, keep_firing_for: a span is negative; write 0s or more")
	}
	if !finite(r.MinCount) || r.MinCount < 0 {
		say("min_count: %v is no count; write 0 or more", r.MinCount)
	}
	for name := range r.Match {
		if name == "" {
			say("match: a label has no name; write name: value")
		}
	}
	r.checkSource(say)
	return errors.Join(errs...)
}

// checkSource checks where the value comes from, and its limits.
func (r Rule) checkSource(say func(string, ...any)) {
	var given []string
	for source, is := range map[string]bool{"measure": r.Measure != "", "findings": len(r.Findings) > 0, "expr": r.Expr != "", "numerator and denominator": r.Numerator != "" || r.Denominator != ""} {
		if is {
			given = append(given, source)
		}
	}
	slices.Sort(given)
	if len(given) != 1 {
		has := "none is given"
		if len(given) > 1 {
			has = strings.Join(given, " and ") + " are given"
		}
		say("exactly one of measure, findings, expr, or numerator with denominator must give its value; %s", has)
		return
	}
	m, known := measures()[r.Measure]
	switch {
	case r.Measure != "" && !known:
		say("measure: there is no measure %q; the measures are %s", r.Measure, strings.Join(measureNames(), ", "))
		return
	case r.Measure != "" && m.kind != r.Kind:
		say("kind: the measure %s judges each %s; write that, or leave it out", r.Measure, firstNonEmpty(string(m.kind), "source by its own kind"))
	case r.Measure == "" && !slices.Contains([]SubjectKind{OfPipeline, OfBroker, OfStore, OfDashboard}, r.Kind):
		say("kind: %q is none; write pipeline, broker, store or dashboard", r.Kind)
	case len(r.Findings) > 0 && r.Kind != OfPipeline:
		say("kind: findings are of pipelines; write pipeline, or leave it out")
	}
	if len(r.Findings) > 1 && slices.Contains(r.Findings, EveryOtherFinding) {
		say("findings: %q stands alone; leave the other kinds out", EveryOtherFinding)
	}
	if slices.Contains(r.Findings, "") {
		say("findings: a kind is empty; docs/findings.md lists the kinds")
	}
	r.checkQueries(say)
	r.checkLimits(say, m.limits)
}

// checkLimits checks the limits, or that there are none where refused says why.
func (r Rule) checkLimits(say func(string, ...any), refused string) {
	switch {
	case len(r.Findings) > 0 && r.Limits.any():
		say("limits: findings bring their own tiers; leave the limits out")
	case refused != "" && r.Limits.any():
		say("limits: %s", refused)
	case len(r.Findings) == 0 && refused == "":
		r.Limits.check(say, r.Disabled)
	}
}

// checkQueries checks the PromQL.
func (r Rule) checkQueries(say func(string, ...any)) {
	for _, q := range []struct{ field, promql string }{{"expr", r.Expr}, {"numerator", r.Numerator}, {"denominator", r.Denominator}} {
		if q.promql == "" {
			if (q.field == "numerator" || q.field == "denominator") && r.Numerator+r.Denominator != "" {
				say("%s: it is missing; a ratio takes both", q.field)
			}
			continue
		}
		if err := CheckExpr(q.promql); err != nil {
			say("%s: %w", q.field, err)
		}
		if q.field != "expr" && !strings.Contains(q.promql, "$window") {
			say("%s: it does not say over what span; write $window where the span stands, as in increase(x[$window])", q.field)
		}
	}
}

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

func (l RuleLimits) any() bool { return l.Warning != nil || l.Severe != nil || l.Emergency != nil }

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

// check says what is wrong with limits. Those of a rule that is switched off may be missing.
func (l RuleLimits) check(say func(string, ...any), disabled bool) {
	if !l.any() && !disabled {
		say("limits: none is given; give at least one of warning, severe and emergency")
	}
	if l.Leave < 0 || l.Leave > 1 || math.IsNaN(l.Leave) {
		say("limits.leave: %v is no share of a limit; write a number above 0 and up to 1", l.Leave)
	}
	last, lastTier := math.Inf(-1), dedup.Normal
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		limit := l.of(t)
		if limit == nil {
			continue
		}
		if !finite(*limit) || *limit <= 0 {
			say("limits: %s is %v; write a number above 0", t, *limit)
		} else if *limit < last {
			say("limits: %s (%v) is below %s (%v); write them in rising order", t, *limit, lastTier, last)
		}
		last, lastTier = *limit, t
	}
}
