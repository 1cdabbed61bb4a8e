package ruletest

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

const shippedPath = "../../../docs/alert-rules.test.yaml"

// shipped parses the file that is shipped with the built-in rules, for a setup.
func shipped(t *testing.T, setup Setup) *File {
	t.Helper()
	text, err := os.ReadFile(shippedPath)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse("alert-rules.test.yaml", text, setup)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rulesWith resolves the built-in rules with others.
func rulesWith(t *testing.T, custom ...rule.Rule) []rule.Rule {
	t.Helper()
	rules, err := rule.Resolve(rule.Defaults(), custom)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func run(t *testing.T, f *File) []Failure {
	t.Helper()
	failures, err := f.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return failures
}

func TestTheShippedTestsOfTheBuiltInRulesHold(t *testing.T) {
	for _, f := range run(t, shipped(t, Setup{Rules: rulesWith(t)})) {
		t.Error(f)
	}
}

// tiersOf are the tiers that a rule can fire at.
func tiersOf(r rule.Rule) []dedup.Tier {
	switch r.Measure {
	case "duplicate_rate", "":
		return []dedup.Tier{dedup.Warning, dedup.Severe, dedup.Emergency}
	case "ack_latency", "source_unreachable":
		return []dedup.Tier{dedup.Warning, dedup.Severe}
	case "watchdog":
		return []dedup.Tier{dedup.Warning}
	}
	var tiers []dedup.Tier
	for i, limit := range []*float64{r.Limits.Warning, r.Limits.Severe, r.Limits.Emergency} {
		if limit != nil {
			tiers = append(tiers, dedup.Warning+dedup.Tier(i))
		}
	}
	return tiers
}

func TestEveryTierOfEveryBuiltInRuleIsTested(t *testing.T) {
	seen := make(map[string]bool)
	for _, test := range shipped(t, Setup{Rules: rulesWith(t)}).tests {
		for _, l := range test.looks {
			for _, e := range l.alerts {
				seen[e.key.Rule+" "+e.tier.String()] = true
			}
		}
	}
	for _, r := range rule.Defaults() {
		if r.Disabled { // it cannot fire
			continue
		}
		for _, tier := range tiersOf(r) {
			if !seen[r.Name+" "+tier.String()] {
				t.Errorf("%s has no test in which rule %s is at %s; add one", shippedPath, r.Name, tier)
			}
		}
	}
}

// A mutant is the built-in rules, or the limits of the pipelines, with one number a little off.
type mutant struct {
	name, rule string
	setup      Setup
}

// timingMutants put each span of a rule one evaluation off.
func timingMutants(rules []rule.Rule, i int) []mutant {
	const tick = 15 * time.Second
	var all []mutant
	spans := []func(*rule.Timing) *time.Duration{
		func(t *rule.Timing) *time.Duration { return &t.Warning }, func(t *rule.Timing) *time.Duration { return &t.Severe },
		func(t *rule.Timing) *time.Duration { return &t.Emergency }, func(t *rule.Timing) *time.Duration { return &t.KeepFiring },
	}
	for at, span := range spans {
		reached := at == 3 || slices.Contains(tiersOf(rules[i]), dedup.Warning+dedup.Tier(at))
		for _, by := range []time.Duration{tick, -tick} {
			if reached && *span(&rules[i].Timing)+by >= 0 {
				off := slices.Clone(rules)
				*span(&off[i].Timing) += by
				all = append(all, mutant{fmt.Sprintf("%s, span %d by %s", off[i].Name, at, by), off[i].Name, Setup{Rules: off}})
			}
		}
	}
	return all
}

// limitMutants put each limit of a rule a little off.
func limitMutants(rules []rule.Rule, i int) []mutant {
	var all []mutant
	r := rules[i]
	for at, limit := range []*float64{r.Limits.Warning, r.Limits.Severe, r.Limits.Emergency} {
		if limit == nil {
			continue
		}
		by := 1.0 // of counts and seconds
		if r.Unit == dedup.Ratio {
			by = 0.00011 // more than what a sum of two such numbers may be off
		}
		for _, moved := range []float64{*limit + by, *limit - by} {
			off := slices.Clone(rules)
			*[]**float64{&off[i].Limits.Warning, &off[i].Limits.Severe, &off[i].Limits.Emergency}[at] = &moved
			if moved > 0 {
				all = append(all, mutant{fmt.Sprintf("%s, limit %v", r.Name, moved), r.Name, Setup{Rules: off}})
			}
		}
	}
	for _, count := range []float64{r.MinCount + 1, r.MinCount - 1} {
		if r.MinCount > 0 {
			off := slices.Clone(rules)
			off[i].MinCount = count
			all = append(all, mutant{fmt.Sprintf("%s, at least %v", r.Name, count), r.Name, Setup{Rules: off}})
		}
	}
	return append(all, leaveMutants(rules, i)...)
}

// leaveMutants let a rule be left a little sooner or later. What is judged by a limit of one only has nothing between.
func leaveMutants(rules []rule.Rule, i int) []mutant {
	var all []mutant
	r := rules[i]
	fine := r.Measure == "duplicate_rate" || r.Measure == "ack_latency"
	for _, limit := range []*float64{r.Limits.Warning, r.Limits.Severe, r.Limits.Emergency} {
		fine = fine || limit != nil && *limit != 1
	}
	leave := r.Limits.Leave
	if leave == 0 {
		leave = 0.8
	}
	for _, moved := range []float64{leave + 0.015, leave - 0.11} { // the second one so that 7 of 10 holds
		if fine {
			off := slices.Clone(rules)
			off[i].Limits.Leave = moved
			all = append(all, mutant{fmt.Sprintf("%s, left at %v", r.Name, moved), r.Name, Setup{Rules: off}})
		}
	}
	return all
}

// pageMutants put each limit of the pages a little off.
func pageMutants(rules []rule.Rule) []mutant {
	var all []mutant
	for at, by := range []float64{0.0001, 0.0001, 0.0001, 0.001, 0.001, 1, 1} {
		for _, by := range []float64{by, -by} {
			l := dedup.DefaultLimits()
			*[]*float64{&l.DuplicateWarning, &l.DuplicateSevere, &l.DuplicateEmergency,
				&l.LatencyWarning, &l.LatencySevere, &l.MinMessages, &l.MinDuplicates}[at] += by
			name := "duplicate_rate"
			if at == 3 || at == 4 {
				name = "ack_latency"
			}
			setup := Setup{Rules: rules, Pipelines: []dedup.Pipeline{{Name: "orders", Limits: l}}}
			all = append(all, mutant{fmt.Sprintf("limit %d of the page by %v", at, by), name, setup})
		}
	}
	return all
}

// only leaves what is of one rule.
func (f *File) only(name string) {
	f.setup.Rules = slices.DeleteFunc(slices.Clone(f.setup.Rules), func(r rule.Rule) bool { return r.Name != name })
	for i := range f.tests {
		for j := range f.tests[i].looks {
			l := &f.tests[i].looks[j]
			l.alerts = slices.DeleteFunc(l.alerts, func(e expected) bool { return e.key.Rule != name })
		}
		f.tests[i].looks = slices.DeleteFunc(f.tests[i].looks, func(l look) bool { return len(l.alerts) == 0 })
	}
}

func TestTheShippedTestsCatchEveryNumberThatIsALittleOff(t *testing.T) {
	rules := rulesWith(t)
	all := pageMutants(rules)
	for i, r := range rules {
		if f := shipped(t, Setup{Rules: rules}); !r.Disabled {
			f.only(r.Name)
			for _, failure := range run(t, f) {
				t.Errorf("without a slip: %s", failure)
			}
		}
		if !r.Disabled && r.Measure != "watchdog" {
			all = append(append(all, timingMutants(rules, i)...), limitMutants(rules, i)...)
		}
	}
	for _, m := range all {
		f := shipped(t, m.setup)
		f.only(m.rule)
		if failures := run(t, f); len(failures) == 0 {
			t.Errorf("%s: no test fails", m.name)
		}
	}
	if len(all) < 200 {
		t.Errorf("only %d slips were tried", len(all))
	}
}
