package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/docs"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// ruleSection is one entry of `alerts.rules`: a rule of one's own, or with the name of a built-in one a variant of it.
type ruleSection struct {
	Name          string            `yaml:"name"`
	Title         string            `yaml:"title"`
	Kind          string            `yaml:"kind"`
	Match         map[string]string `yaml:"match"`
	Disabled      bool              `yaml:"disabled"`
	Limits        ruleLimits        `yaml:"limits"`
	For           spans             `yaml:"for"`
	KeepFiringFor *Duration         `yaml:"keep_firing_for"`
	MinCount      *float64          `yaml:"min_count"`
	NoData        string            `yaml:"no_data"`
	Expr          string            `yaml:"expr"`
	Numerator     string            `yaml:"numerator"`
	Denominator   string            `yaml:"denominator"`
	Unit          string            `yaml:"unit"`
	Meaning       string            `yaml:"meaning"`
	Step          string            `yaml:"step"`
	Runbook       string            `yaml:"runbook"`
}

// ruleLimits are written in the unit of their rule.
type ruleLimits struct {
	Warning   *amount  `yaml:"warning"`
	Severe    *amount  `yaml:"severe"`
	Emergency *amount  `yaml:"emergency"`
	Leave     *Percent `yaml:"leave"`
}

// spans are the times that the tiers must be reached for: one for each, or one for all.
type spans struct {
	Warning   *Duration `yaml:"warning"`
	Severe    *Duration `yaml:"severe"`
	Emergency *Duration `yaml:"emergency"`
}

// UnmarshalYAML reads 5m, or {warning: 5m, severe: 2m, emergency: 0s}.
func (s *spans) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		var all Duration
		if err := all.UnmarshalYAML(n); err != nil {
			return err
		}
		*s = spans{&all, &all, &all}
		return nil
	}
	var unknown []string // the decoder's own check of keys does not reach in here
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !strings.Contains(" warning severe emergency ", " "+key.Value+" ") {
			unknown = append(unknown, fmt.Sprintf("line %d: field %s not found in type config.spans", key.Line, key.Value))
		}
	}
	if len(unknown) > 0 {
		return &yaml.TypeError{Errors: unknown}
	}
	type plain spans
	return n.Decode((*plain)(s))
}

// An amount is a number with the unit that was written after it: 10, 3%, 500ms, 2GB.
type amount struct {
	value float64
	// unit is what is written after the number; dedup.Count for nothing.
	unit dedup.Unit
	text string
}

// UnmarshalYAML reads a number, a percentage, a span of time or a size.
func (a *amount) UnmarshalYAML(n *yaml.Node) error { return readUnit(n, a.parse) }

func (a *amount) parse(text string) error {
	var share Percent
	var span Duration
	var size Size
	a.text = text
	if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		a.value, a.unit = v, dedup.Count
		return nil
	}
	switch {
	case share.parse(text) == nil:
		a.value, a.unit = float64(share), dedup.Ratio
	case span.parse(text) == nil:
		a.value, a.unit = time.Duration(span).Seconds(), dedup.Seconds
	case size.parse(text) == nil:
		a.value, a.unit = float64(size), dedup.Bytes
	default:
		return fmt.Errorf("%q is no limit: write a number, with its unit where it has one, as in 10, 3%%, 500ms or 2GB", text)
	}
	return nil
}

// in returns the amount in a unit, or says how one is written in it.
func (a amount) in(unit dedup.Unit) (float64, error) {
	wants := map[dedup.Unit]string{dedup.Ratio: "a percentage, as in 3%", dedup.Seconds: "a span of time, as in 500ms or 5m", dedup.Bytes: "a size, as in 512MB"}
	how, united := wants[unit]
	switch {
	case united && a.unit != unit:
		return 0, fmt.Errorf("%q has the wrong unit; the rule judges %s", a.text, how)
	case !united && a.unit != dedup.Count:
		return 0, fmt.Errorf("%q has a unit, and the rule counts; write a plain number, as in 10", a.text)
	}
	return a.value, nil
}

// buildRules joins the rules with the built-in ones.
func (s alertsSection) buildRules(c *report) []rule.Rule {
	builtIn := rule.Defaults()
	units := map[string]dedup.Unit{}
	for _, r := range builtIn {
		units[r.Name] = r.Unit
	}
	var custom []rule.Rule
	for i, r := range s.Rules {
		path := c.entry("alerts.rules", i, r.Name)
		if _, known := units[r.Name]; !known && r.Expr+r.Numerator+r.Denominator == "" {
			c.add(path, "%s", nothingJudged(r.Name, slices.Sorted(maps.Keys(units))))
			continue
		}
		if units[r.Name] == "" || r.Unit != "" {
			units[r.Name] = r.unit()
		}
		custom = append(custom, r.build(c, path, units[r.Name]))
	}
	rules, err := rule.Resolve(builtIn, custom)
	for _, e := range leaves(err) {
		c.addErr(s.place(c, e))
	}
	return rules
}

// likeness asks for the word among others that is nearly the same; empty where none is.
func likeness(word string, others []string) string {
	for _, other := range others {
		if distance(word, other) <= 2 {
			return " (did you mean " + other + "?)"
		}
	}
	return ""
}

// nothingJudged says of a rule that has no value what was most likely meant.
func nothingJudged(name string, builtIn []string) string {
	if meant := likeness(name, builtIn); meant != "" {
		return fmt.Sprintf("there is no rule %q%s", name, meant)
	}
	return fmt.Sprintf("there is no built-in rule %q, and a rule of your own needs expr, or numerator with denominator; docs/alerts.md lists the built-in ones", name)
}

// place returns where in the file a mistake of a rule stands, and the mistake without the name of the rule.
func (s alertsSection) place(c *report, err error) (string, error) {
	wrong, ok := errors.AsType[*rule.Error](err)
	if !ok {
		return "alerts.rules", err
	}
	for i, r := range s.Rules {
		if r.Name == wrong.Rule && maps.Equal(r.Match, wrong.Match) {
			return c.entry("alerts.rules", i, r.Name), wrong.Err
		}
	}
	return "alerts.rules", err
}

// unit is what a rule of one's own judges unless it says so: a share where it divides.
func (r ruleSection) unit() dedup.Unit {
	switch {
	case r.Unit != "":
		return dedup.Unit(r.Unit)
	case r.Numerator != "":
		return dedup.Ratio
	default:
		return dedup.Count
	}
}

func (r ruleSection) build(c *report, path string, unit dedup.Unit) rule.Rule {
	built := rule.Rule{
		Name: r.Name, Title: r.Title, Kind: rule.SubjectKind(r.Kind), Match: r.Match, Disabled: r.Disabled,
		NoData: rule.NoDataPolicy(r.NoData), Expr: r.Expr, Numerator: r.Numerator, Denominator: r.Denominator,
		Unit: dedup.Unit(r.Unit), Meaning: r.Meaning, Step: r.Step, Runbook: r.Runbook,
		Timing: rule.Timing{Warning: r.For.Warning.span(), Severe: r.For.Severe.span(), Emergency: r.For.Emergency.span(), KeepFiring: r.KeepFiringFor.span()},
	}
	for _, l := range []struct {
		tier    string
		written *amount
		to      **float64
	}{{"warning", r.Limits.Warning, &built.Limits.Warning}, {"severe", r.Limits.Severe, &built.Limits.Severe}, {"emergency", r.Limits.Emergency, &built.Limits.Emergency}} {
		if l.written == nil {
			continue
		}
		v, err := l.written.in(unit)
		if err != nil {
			c.addUnread(path+".limits."+l.tier, "%v", err)
			c.unread = append(c.unread, path+".limits") // how they relate cannot be told then
		}
		*l.to = &v
	}
	override(&built.Limits.Leave, (*float64)(r.Limits.Leave))
	override(&built.MinCount, r.MinCount)
	r.check(c, path)
	return built
}

// check records what only the file can have wrong: a 0 that would pass for "not given", and a page that the program does not hold.
func (r ruleSection) check(c *report, path string) {
	if r.Limits.Leave != nil && *r.Limits.Leave == 0 {
		c.add(path+".limits.leave", "must be above 0%%: a tier that is left at 0%% is never left")
	}
	if r.MinCount != nil && *r.MinCount == 0 {
		c.add(path+".min_count", "must be 1 or more: a ratio of nothing cannot be told")
	}
	for _, q := range []struct{ key, promql string }{{"expr", r.Expr}, {"numerator", r.Numerator}, {"denominator", r.Denominator}} {
		for _, name := range series.Unstored(strings.ReplaceAll(q.promql, "$window", "15m")) {
			c.add(path+"."+q.key, "nobody stores a series %s%s, so that the rule would never fire; docs/metrics.md lists those that there are", name, likeness(name, series.Stored()))
		}
	}
	if strings.HasPrefix(r.Runbook, "docs/") && docs.Path(r.Runbook) == "" {
		c.add(path+".runbook", "there is no page %s in the documentation of the dashboard; give a web address", r.Runbook)
	}
}

// span returns a duration as rules have it: none that was given, and one of no time, differ.
func (d *Duration) span() time.Duration {
	switch {
	case d == nil:
		return 0
	case *d == 0:
		return rule.AtOnce
	default:
		return time.Duration(*d)
	}
}
