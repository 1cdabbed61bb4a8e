package ruletest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

const (
	defaultInterval         = 15 * time.Second
	leastInterval           = time.Second
	mostInterval            = 5 * time.Minute
	enough          float64 = 10_000 // events that a value rests on unless the test says
)

// A Setup is what a file tests.
type Setup struct {
	// Rules are resolved, as rule.Resolve returns them.
	Rules []rule.Rule
	// Pipelines are those of the configuration; nil without one: a test may then name any.
	Pipelines []dedup.Pipeline
}

// A File is a file of tests that can be run.
type File struct {
	name     string
	setup    Setup
	interval time.Duration
	tests    []test
}

// A test is one timeline, and what is expected of the alerts on it.
type test struct {
	name      string
	line      int
	pipelines []dedup.Pipeline
	// brokers and stores are those of the pipelines, and those that series name; queues are shared ones that series name.
	brokers, stores, queues []string
	inputs                  []input
	looks                   []look // in the order of their times
}

// A look is what is expected of the alerts at one time.
type look struct {
	line   int
	at     time.Duration
	alerts []expected
}

// An expected alert. A nil field is not looked at.
type expected struct {
	line int
	key  rule.Key
	tier dedup.Tier
	// pending is unknown where none is to be.
	pending *dedup.Tier
	phase   *alerts.Phase
	health  *rule.Health
}

// Parse reads a file of tests; name stands for it in what is said of it. Its error is Problems: all that is wrong at once.
func Parse(name string, text []byte, setup Setup) (*File, error) {
	p := &parser{reader: reader{file: name}, setup: setup, setters: setters()}
	file := &File{name: name, setup: setup, interval: defaultInterval}
	if root := p.document(text); root != nil {
		p.file(root, file)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return file, nil
}

// A parser reads one file.
type parser struct {
	reader
	setup   Setup
	setters map[string]setter
}

func (p *parser) file(root *yaml.Node, file *File) {
	f, ok := p.group(root, "the file", "interval", "tests!")
	if f.has("interval") {
		switch d, ok := f.span("interval"); {
		case !ok:
		case d < leastInterval || d > mostInterval:
			f.say("interval", "%s is not within %s and %s; leave it out for %s",
				span(d), span(leastInterval), span(mostInterval), span(defaultInterval))
		default:
			file.interval = d
		}
	}
	if !ok {
		return
	}
	tests := f.list("tests")
	if len(tests) == 0 && len(p.problems) == 0 {
		f.say("tests", "there is none; write at least one")
	}
	named := make(map[string]int)
	for _, n := range tests {
		t, ok := p.test(n, file.interval)
		if !ok {
			continue
		}
		if first, twice := named[t.name]; twice {
			p.say(t.line, "name: %q is that of the test on line %d, too; give it another", clipped(t.name), first)
		}
		named[t.name] = t.line
		file.tests = append(file.tests, t)
	}
}

func (p *parser) test(n *yaml.Node, interval time.Duration) (test, bool) {
	f, ok := p.group(n, "a test", "name!", "pipelines", "series", "expect!")
	t := test{line: f.line}
	if !ok {
		return t, false
	}
	if t.name = f.text("name"); t.name == "" {
		f.say("name", "it is empty; say in a sentence what the test shows")
	}
	for _, n := range f.list("pipelines") {
		p.pipeline(n, &t)
	}
	for _, n := range f.list("series") {
		p.input(n, &t)
	}
	t.gather(func(s *[]string, name string) {
		if name != "" && !slices.Contains(*s, name) {
			*s = append(*s, name)
		}
	})
	looks := f.list("expect")
	if len(looks) == 0 && f.of["expect"].Kind == yaml.SequenceNode {
		f.say("expect", "it is empty; write at least one time, as in {at: 2m, alerts: []}")
	}
	for _, n := range looks {
		p.look(n, &t, interval)
	}
	slices.SortStableFunc(t.looks, func(a, b look) int { return int(a.at - b.at) })
	return t, true
}

// gather lists the brokers, stores and shared queues that pipelines and series name.
func (t *test) gather(add func(*[]string, string)) {
	for _, pipeline := range t.pipelines {
		add(&t.brokers, pipeline.Broker)
		add(&t.stores, pipeline.Store)
	}
	for _, in := range t.inputs {
		add(&t.brokers, in.labels["broker"])
		add(&t.stores, in.labels["store"])
		add(&t.queues, in.labels["queue"])
	}
}

func (p *parser) look(n *yaml.Node, t *test, interval time.Duration) {
	f, ok := p.group(n, "an entry of expect", "at!", "alerts!")
	if !ok {
		return
	}
	l := look{line: f.line}
	at, ok := f.span("at")
	switch {
	case !ok:
	case at/interval >= maxSteps:
		f.say("at", "%s is beyond %d evaluations; write an earlier time, or a longer interval", span(at), maxSteps)
	case at%interval != 0:
		f.say("at", "rules are evaluated every %s, and not at %s; write %s or %s", span(interval), span(at),
			span(at-at%interval), span(at-at%interval+interval))
	}
	l.at = at
	for _, n := range f.list("alerts") {
		e, ok := p.expected(n, t)
		if !ok {
			continue
		}
		if slices.ContainsFunc(l.alerts, func(o expected) bool { return o.key == e.key }) {
			p.say(e.line, "the alert %s is listed twice; keep one", subjectText(e.key))
		}
		l.alerts = append(l.alerts, e)
	}
	t.looks = append(t.looks, l)
}

func (p *parser) expected(n *yaml.Node, t *test) (expected, bool) {
	f, ok := p.group(n, "an alert", "rule!", "pipeline", "broker", "store", "queue", "tier!", "pending", "phase", "health")
	if !ok {
		return expected{}, false
	}
	before := len(p.problems)
	e := expected{line: f.line, key: rule.Key{Rule: f.text("rule")}}
	p.subject(f, &e.key, t)
	if tier := choose(f, "tier", dedup.Normal, dedup.Warning, dedup.Severe, dedup.Emergency); tier != nil {
		e.tier = *tier
	}
	e.pending = (*dedup.Tier)(choose(f, "pending", noTier, pendingTier(dedup.Warning), pendingTier(dedup.Severe), pendingTier(dedup.Emergency)))
	e.phase = choose(f, "phase", alerts.PhaseNormal, alerts.PhasePending, alerts.PhaseFiring, alerts.PhaseRecovering)
	e.health = choose(f, "health", rule.HealthOK, rule.HealthNoData, rule.HealthError)
	return e, len(p.problems) == before
}

// A pendingTier is written none where no tier is pending.
type pendingTier dedup.Tier

const noTier = pendingTier(dedup.TierUnknown)

// String returns the word of the file.
func (t pendingTier) String() string {
	if t == noTier {
		return "none"
	}
	return dedup.Tier(t).String()
}

// choose reads the word of one of several values; nil where it is missing or another.
func choose[T fmt.Stringer](f fields, key string, of ...T) *T {
	if !f.has(key) {
		return nil
	}
	word := f.text(key)
	var words []string
	for _, v := range of {
		if v.String() == word {
			return &v
		}
		words = append(words, v.String())
	}
	f.say(key, "%q is none; write %s", clipped(word), strings.Join(words, ", "))
	return nil
}

// subject finds whom an alert is about. It must be one that the rule judges and the test has.
func (p *parser) subject(f fields, key *rule.Key, t *test) {
	i := slices.IndexFunc(p.setup.Rules, func(r rule.Rule) bool { return r.Name == key.Rule })
	if i < 0 {
		f.say("rule", "there is no rule %q; the rules are %s", clipped(key.Rule), strings.Join(p.ruleNames(), ", "))
		return
	}
	kind := p.setup.Rules[i].Kind
	var given []string
	for _, of := range []rule.SubjectKind{rule.OfPipeline, rule.OfBroker, rule.OfStore, rule.OfQueue} {
		if f.has(string(of)) {
			given = append(given, string(of))
			key.Kind, key.Subject = of, f.text(string(of))
		}
	}
	switch {
	case kind == rule.OfDashboard && len(given) > 0:
		p.say(f.line, "rule %s judges the dashboard; leave %s out", key.Rule, strings.Join(given, " and "))
	case kind == rule.OfDashboard:
		key.Kind = kind
	case len(given) != 1 || kind != "" && kind != key.Kind:
		if kind == "" {
			kind = "pipeline, broker or store"
		}
		p.say(f.line, "rule %s judges one %s: name that, and nothing else", key.Rule, kind)
	case !t.has(*key):
		p.say(f.line, "no series of the test names the %s %q, nor is it listed under pipelines; the names must be equal",
			key.Kind, clipped(key.Subject))
	}
}

func (p *parser) ruleNames() []string {
	all := make(map[string]bool)
	for _, r := range p.setup.Rules {
		all[r.Name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func (t *test) has(k rule.Key) bool {
	switch k.Kind {
	case rule.OfBroker:
		return slices.Contains(t.brokers, k.Subject)
	case rule.OfStore:
		return slices.Contains(t.stores, k.Subject)
	case rule.OfQueue:
		return slices.Contains(t.queues, k.Subject)
	default:
		return slices.ContainsFunc(t.pipelines, func(p dedup.Pipeline) bool { return p.Name == k.Subject })
	}
}
