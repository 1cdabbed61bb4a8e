package ruletest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// An input is one series of a test.
type input struct {
	line   int
	name   string
	labels map[string]string
	// setter is that of the measure; nil for a series of the history.
	setter *setter
	// subject is whose measure it is; its rule is empty.
	subject rule.Key
	// window is the only one that is set; 0 for all.
	window time.Duration
	// tier is that of a finding.
	tier      dedup.Tier
	values, n values
}

// selectorForm is a name with or without labels, labelForm one label.
var (
	selectorForm = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:\{(.*)\})?$`)
	labelForm    = regexp.MustCompile(`^\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*("(?:[^"\\]|\\.)*")\s*(?:,|$)`)
)

// parseSelector reads name{label="value", ...}.
func parseSelector(text string) (string, map[string]string, error) {
	const form = `write a name and its labels, as in duplicate_rate{pipeline="orders"}`
	m := selectorForm.FindStringSubmatch(text)
	if m == nil {
		return "", nil, fmt.Errorf("%q is no series; %s", clipped(text), form)
	}
	labels := make(map[string]string)
	for rest := m[2]; strings.TrimSpace(rest) != ""; {
		l := labelForm.FindStringSubmatch(rest)
		if l == nil {
			return "", nil, fmt.Errorf("%q are no labels; %s", clipped(rest), form)
		}
		value, err := strconv.Unquote(l[2])
		if _, twice := labels[l[1]]; err != nil || twice || value == "" {
			return "", nil, fmt.Errorf("the label %s is empty, stands twice, or has a wrong escape; write %s=\"...\" once", l[1], l[1])
		}
		labels[l[1]] = value
		rest = rest[len(l[0]):]
	}
	return m[1], labels, nil
}

func (p *parser) input(n *yaml.Node, t *test) {
	f, ok := p.group(n, "a series", "series!", "values!", "n")
	if !ok {
		return
	}
	in := input{line: f.line, n: always(enough)}
	var err error
	if in.name, in.labels, err = parseSelector(f.text("series")); err != nil {
		f.say("series", "%s", err)
		return
	}
	if slices.ContainsFunc(t.inputs, func(o input) bool { return o.name == in.name && maps.Equal(o.labels, in.labels) }) {
		p.say(in.line, "series: %s stands twice in the test; join the two", in.name)
	}
	if !p.measure(&in) {
		if _, err := parseValues(f.text("values")); err != nil {
			f.say("values", "%s", err)
		}
		return
	}
	p.values(f, &in)
	p.adopt(&in, t)
	t.inputs = append(t.inputs, in)
}

// measure finds out what a series sets, and reports false where that cannot be told.
func (p *parser) measure(in *input) bool {
	s, settable := p.setters[in.name]
	i := slices.IndexFunc(p.setup.Rules, func(r rule.Rule) bool { return r.Name == in.name })
	switch {
	case settable:
		in.setter = &s
		return p.ofMeasure(in)
	case rule.IsMeasure(in.name):
		p.say(in.line, "series: the measure %s cannot be tested; those that can are %s", in.name, p.measures())
	case p.asked(in.name):
		return true
	case i >= 0 && p.setup.Rules[i].Measure != "":
		p.say(in.line, "series: %s is the name of a rule, which judges the measure %s; write that", in.name, p.setup.Rules[i].Measure)
	default:
		p.say(in.line, "series: %s is no measure, and no rule asks for it by PromQL; the measures are %s", in.name, p.measures())
	}
	return false
}

func (p *parser) measures() string { return strings.Join(slices.Sorted(maps.Keys(p.setters)), ", ") }

// asked reports whether the PromQL of some rule may ask for a series.
func (p *parser) asked(name string) bool {
	return slices.ContainsFunc(p.setup.Rules, func(r rule.Rule) bool {
		return slices.ContainsFunc(queries(r), func(promql string) bool {
			// Rules are resolved: there is none whose PromQL is wrong.
			selects, _ := series.Selects(strings.ReplaceAll(promql, "$window", "15m"), name)
			return selects
		})
	})
}

// ofMeasure reads whose measure it is from the labels, and reports whether they are those that the measure takes.
func (p *parser) ofMeasure(in *input) bool {
	kinds := []rule.SubjectKind{in.setter.kind}
	if in.setter.kind == "" {
		kinds = []rule.SubjectKind{rule.OfBroker, rule.OfStore, rule.OfPipeline}
	}
	rest := maps.Clone(in.labels)
	for _, kind := range kinds {
		if name, there := rest[string(kind)]; there && in.subject.Kind == "" {
			in.subject = rule.Key{Kind: kind, Subject: name}
			delete(rest, string(kind))
		}
	}
	if in.setter.kind == rule.OfDashboard {
		in.subject.Kind = rule.OfDashboard
	}
	if in.subject.Kind == "" {
		p.say(in.line, "series: %s does not say whose it is; write %s{%s=\"...\"}", in.name, in.name, kinds[0])
		return false
	}
	if in.setter.windows {
		p.readWindow(in, rest)
	}
	if in.subject.Kind == rule.OfQueue && sharedQueue(in.subject.Subject).Subject() != in.subject.Subject {
		p.say(in.line, "series: %q names no shared queue; write broker:queue, or broker:vhost:queue", clipped(in.subject.Subject))
	}
	if in.name == findingSeries {
		in.tier, _ = dedup.ParseTier(in.labels["tier"])
		if in.tier == dedup.TierUnknown || in.labels["kind"] == "" {
			p.say(in.line, "series: a finding has a kind and a tier; write %s{pipeline=\"...\", kind=\"no_consumers\", tier=\"severe\"}", in.name)
		}
		delete(rest, "kind")
		delete(rest, "tier")
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		p.say(in.line, "series: %s takes no label %s here; leave it out", in.name, name)
	}
	return true
}

func (p *parser) readWindow(in *input, rest map[string]string) {
	text, there := rest["window"]
	delete(rest, "window")
	if !there {
		return
	}
	var err error
	if in.window, err = time.ParseDuration(text); err != nil || !slices.Contains(dedup.Windows(), in.window) {
		p.say(in.line, "series: %q is no window; write 5m, 15m, 1h or 24h, or leave it out for all of them", clipped(text))
	}
}

// values reads the values of a series and how many events they rest on.
func (p *parser) values(f fields, in *input) {
	var err error
	if in.values, err = parseValues(f.text("values")); err != nil {
		f.say("values", "%s", err)
	}
	for _, s := range in.values {
		if why := in.refuses(s); why != "" {
			f.say("values", "%s: %s", s.word, why)
		}
	}
	if !f.has("n") {
		return
	}
	if in.setter == nil || !in.setter.windows {
		f.say("n", "%s rests on no number of events; leave n out", in.name)
		return
	}
	if in.n, err = parseValues(f.text("n")); err != nil {
		f.say("n", "%s", err)
	}
	if len(in.n) == 1 && in.n[0].to == 1 && in.n[0].kind == given {
		in.n[0].to = math.MaxInt // one number holds for all
	}
	for _, s := range in.n {
		if s.kind != given || s.unit != "" || s.least() < 0 {
			f.say("n", "%s: write how many events there are, from 0 on and without a unit", s.word)
		}
	}
}

func (s stretch) least() float64 { return min(s.first, s.number(s.to-1)) }
func (s stretch) most() float64  { return max(s.first, s.number(s.to-1)) }

// refuses says why a series does not take values of a stretch; empty when it does.
func (in *input) refuses(s stretch) string {
	if in.setter == nil && s.kind == failed {
		return "it is of the history; write stale, and let its source fail by " + sourceSeries + `{store="..."}`
	}
	if in.setter == nil {
		return ""
	}
	m := in.setter
	units := map[dedup.Unit]string{dedup.Ratio: "%", dedup.Seconds: "s"}
	switch {
	case s.kind == stale:
		return "only a series of the history ends; write _ for no data, or error for a source that cannot be read"
	case s.kind == failed && m.sources == nil:
		return "it has no source that fails; write _ for no data"
	case s.kind != given:
		return ""
	case s.unit != "" && s.unit != units[m.unit]:
		return fmt.Sprintf("%s is no ratio and no time with that unit, but in %s; leave the unit out or write another", in.name, m.unit)
	case s.least() < 0:
		return in.name + " is never negative"
	case m.unit == dedup.Ratio && s.most() > 1:
		return in.name + " is a ratio and at most 1; write it in percent, as in 5%"
	case m.unit == dedup.Seconds && s.most() > maxSeconds:
		return "that is more than a year; write less"
	case m.whole && (s.most() > maxThings || s.first != math.Trunc(s.first) || s.by != math.Trunc(s.by)):
		return fmt.Sprintf("%s is a whole number up to %d", in.name, maxThings)
	case in.name == findingSeries && s.most() > 1:
		return "a finding is there (1) or not (0)"
	}
	return ""
}

const maxSeconds = 366 * 24 * 3600
