// Package rule judges figures and findings: it decides which tier a value reaches, for page and alert alike; package alerts decides when that fires.
package rule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
)

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
	Limits   Limits
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

// Tiers are those that it can fire at, the lowest first: those with a limit, and those that its measure or its findings bring.
func (r Rule) Tiers() []dedup.Tier {
	brought := measures()[r.Measure].tiers
	var tiers []dedup.Tier
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		if r.Limits.of(t) != nil || len(r.Findings) > 0 || slices.Contains(brought, t) {
			tiers = append(tiers, t)
		}
	}
	return tiers
}

// Words returns what the rule says to people.
func (r Rule) Words() Words { return Words{Title: r.Title, Step: r.Step, Runbook: r.Runbook} }

// IsQuery reports whether PromQL gives the value of the rule.
func (r Rule) IsQuery() bool { return r.Expr != "" || r.Numerator != "" }

// Covers reports whether the rule judges a subject with these labels, and no more specific variant of it does.
func (r Rule) Covers(labels map[string]string) bool {
	return carries(labels, r.Match) && !slices.ContainsFunc(r.Except, func(more map[string]string) bool { return carries(labels, more) })
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
	m, ok := measures()[r.Measure]
	if len(r.Findings) > 0 {
		m, ok = ofFindings(r.Findings), true
	}
	if !ok || r.Disabled {
		return nil, ok || r.Measure != ""
	}
	subjects := in.subjects[m.kind]
	if m.kind == "" {
		subjects = in.sources()
	}
	why := in.Stale()
	out := make([]Judgement, 0, len(subjects))
	for i := range subjects {
		s := &subjects[i]
		if !r.Covers(s.Labels) {
			continue
		}
		j := Judgement{Key: s.Key(r.Name), At: in.Now, Labels: s.Labels, Unit: r.Unit}
		if why != "" && s.Kind != OfDashboard {
			j = j.Unjudged(HealthError, why)
		} else {
			j = m.judge(in, s, r, j).withDown(s.down, m.rests)
		}
		out = append(out, j)
	}
	return out, true
}

// ruleName is how rules are named: as everything else in the configuration, and with the underscores of the built-in ones.
var ruleName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// runbookAddress is what a runbook may be: a web address, or a page of our own documentation.
var runbookAddress = regexp.MustCompile(`^(https?://[^\s/]+(/\S*)?|docs/\S+)$`)

// An Error is one mistake in a rule.
type Error struct {
	// Rule and Match tell which rule it is, and which of its variants.
	Rule  string
	Match map[string]string
	// Err begins with the field that is at fault, and says how to fix it.
	Err error
}

// Error names the rule.
func (e *Error) Error() string { return fmt.Sprintf("rule %q: %s", e.Rule, e.Err) }

// Unwrap returns the mistake without the name of the rule.
func (e *Error) Unwrap() error { return e.Err }

// Check returns everything that is wrong with a rule as Errors, joined.
func (r Rule) Check() error {
	var errs []error
	say := func(format string, args ...any) {
		errs = append(errs, &Error{r.Name, r.Match, fmt.Errorf(format, args...)})
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
	if !Finite(r.MinCount) || r.MinCount < 0 {
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
		say("measure: there is no measure %q; the measures are %s", r.Measure, strings.Join(slices.Sorted(maps.Keys(measures())), ", "))
		return
	case r.Measure != "" && m.kind != r.Kind:
		say("kind: the measure %s judges each %s; write that, or leave it out", r.Measure, cmp.Or(string(m.kind), "source by its own kind"))
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
