package alerts

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// The bounds of a silence. A longer one is a rule that should be switched off; a longer text nobody reads.
const (
	maxSilence       = 90 * 24 * time.Hour
	maxMatchers      = 20
	maxMatcherName   = 128
	maxMatcherValue  = 1024
	maxSilenceRegexp = 512
	maxAuthor        = 200
	maxReason        = 1000
)

// A MatchOp says how a matcher compares.
type MatchOp string

// The ways to compare, as in PromQL. Regular expressions must match the whole value.
const (
	MatchEqual     MatchOp = "="
	MatchNotEqual  MatchOp = "!="
	MatchRegexp    MatchOp = "=~"
	MatchNotRegexp MatchOp = "!~"
)

// A Matcher tells alerts by one label: one of Labels, or a label of the pipeline. A label that an alert has
// not counts as empty.
type Matcher struct {
	Name  string
	Op    MatchOp
	Value string

	compiled *regexp.Regexp
}

// String writes the matcher as PromQL does.
func (m Matcher) String() string { return m.Name + string(m.Op) + quoteValue(m.Value) }

func quoteValue(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(v) + `"`
}

// Matches reports whether the labels have what the matcher asks for. A regular expression that does not compile matches nothing.
func (m Matcher) Matches(labels map[string]string) bool {
	v := labels[m.Name]
	switch m.Op {
	case MatchEqual:
		return v == m.Value
	case MatchNotEqual:
		return v != m.Value
	case MatchRegexp, MatchNotRegexp:
		if m.compiled == nil {
			var err error
			if m.compiled, err = anchored(m.Value); err != nil {
				return false
			}
		}
		return m.compiled.MatchString(v) == (m.Op == MatchRegexp)
	default:
		return false
	}
}

// anchored compiles a regular expression that must match a whole value.
func anchored(expr string) (*regexp.Regexp, error) {
	if len(expr) > maxSilenceRegexp {
		return nil, fmt.Errorf("has %d bytes, more than %d", len(expr), maxSilenceRegexp)
	}
	if _, err := regexp.Compile(expr); err != nil { // alone, so that a bracket cannot close the group below
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return regexp.Compile("^(?s:" + expr + ")$")
}

// check reports what is wrong with the matcher.
func (m Matcher) check() error {
	switch {
	case m.Name == "":
		return errors.New("a matcher has no label; name one, as pipeline")
	case len(m.Name) > maxMatcherName || len(m.Value) > maxMatcherValue || !utf8.ValidString(m.Name+m.Value):
		return fmt.Errorf("the matcher of label %.40q is too long, or no text", m.Name)
	case m.Op == MatchEqual, m.Op == MatchNotEqual:
		return nil
	case m.Op != MatchRegexp && m.Op != MatchNotRegexp:
		return fmt.Errorf("the matcher of label %.40q compares by %.10q; use =, !=, =~ or !~", m.Name, string(m.Op))
	}
	if _, err := anchored(m.Value); err != nil {
		return fmt.Errorf("the regular expression of label %.40q: %w", m.Name, err)
	}
	return nil
}

// A Silence keeps alerts from being told for a while. It changes what is delivered, and never what is judged.
type Silence struct {
	ID       string
	Matchers []Matcher
	// Author made it, for the reason given.
	Author, Reason        string
	Starts, Ends, Created time.Time
	// EndedBy ended it before its time; empty where nobody did.
	EndedBy string
}

// Validate reports everything that is wrong with the silence, as one error of kind invalid.
func (s Silence) Validate() error {
	var faults []string
	add := func(wrong bool, text string) {
		if wrong {
			faults = append(faults, text)
		}
	}
	add(len(s.Matchers) == 0, "it has no matchers: name what it is to cover")
	add(len(s.Matchers) > maxMatchers, fmt.Sprintf("it has more than %d matchers", maxMatchers))
	broad := len(s.Matchers) > 0
	for _, m := range s.Matchers {
		if err := m.check(); err != nil {
			faults = append(faults, err.Error())
			broad = false
		} else if !m.Matches(nil) {
			broad = false
		}
	}
	add(broad, "every matcher also matches what has no such label, so that it would cover nearly everything: name at least one value")
	add(strings.TrimSpace(s.Author) == "" || len(s.Author) > maxAuthor, "it has no author, or one with too long a name")
	add(strings.TrimSpace(s.Reason) == "", "it has no reason: say why, for those who wonder at the quiet")
	add(len(s.Reason) > maxReason || !utf8.ValidString(s.Reason), fmt.Sprintf("its reason is longer than %d bytes, or no text", maxReason))
	add(!s.Ends.After(s.Starts), "it ends before it begins")
	add(s.Ends.Sub(s.Starts) > maxSilence, "it lasts for more than 90 days: switch the rule off instead")
	if len(faults) == 0 {
		return nil
	}
	return &dedup.Error{Kind: dedup.Invalid, Public: "The silence is not valid: " + strings.Join(faults, "; ")}
}

// Compiled returns the silence with its regular expressions compiled, for the many alerts that it is held against.
func (s Silence) Compiled() Silence {
	matchers := make([]Matcher, len(s.Matchers))
	for i, m := range s.Matchers {
		if m.Op == MatchRegexp || m.Op == MatchNotRegexp {
			m.compiled, _ = anchored(m.Value) // one that does not compile matches nothing
		}
		matchers[i] = m
	}
	s.Matchers = matchers
	return s
}

// Covers reports whether every matcher matches the labels. A silence without matchers covers nothing.
func (s Silence) Covers(labels map[string]string) bool {
	for _, m := range s.Matchers {
		if !m.Matches(labels) {
			return false
		}
	}
	return len(s.Matchers) > 0
}

// Active reports whether the silence holds at a time.
func (s Silence) Active(at time.Time) bool { return !at.Before(s.Starts) && at.Before(s.Ends) }

// Expired reports whether the silence has ended.
func (s Silence) Expired(at time.Time) bool { return !at.Before(s.Ends) }

// ExpiresSoon reports whether the silence holds now and ends within the time given, so that people are reminded of it.
func (s Silence) ExpiresSoon(at time.Time, within time.Duration) bool {
	return s.Active(at) && s.Ends.Sub(at) <= within
}

// SilenceLabels are the labels of an alert that silences and routes match: those of its subject, its rule, its kind and its tier.
func SilenceLabels(a *Alert) map[string]string {
	return a.MatchLabels(a.State.Tier)
}

// A Coverage is what a silence would cover now.
type Coverage struct {
	// Alerts are those that are not normal and that it covers.
	Alerts []rule.Key
	// Subjects are the pipelines, brokers and stores that have an alert it can cover, by kind and name: pipeline orders.
	Subjects []string
	// Warning says that it covers nothing, and why; empty when it covers something, now or when it comes.
	Warning string
}

// Preview says what a silence would cover: alerts that are not normal now, and subjects whose alerts to come it would cover.
func Preview(s Silence, v *View, snap *dedup.Snapshot) Coverage {
	s = s.Compiled()
	var c Coverage
	for _, a := range v.Alerts {
		if a.State.Phase != PhaseNormal && s.Covers(SilenceLabels(&a.Alert)) {
			c.Alerts = append(c.Alerts, a.Key)
		}
	}
	book, all := rule.NewBook(v.Rules), rule.SubjectsOf(snap)
	for _, kind := range []rule.SubjectKind{rule.OfPipeline, rule.OfBroker, rule.OfStore, rule.OfQueue, rule.OfDashboard} {
		for _, of := range all.ByKind[kind] {
			if s.canCover(book, &of) {
				c.Subjects = append(c.Subjects, strings.TrimSpace(string(kind)+" "+of.Name))
			}
		}
	}
	if len(c.Subjects) == 0 && len(c.Alerts) == 0 {
		c.Warning = "It covers nothing: no pipeline, broker, store or shared queue that is watched has an alert with these labels. Look for a mistyped name."
	}
	return c
}

// canCover reports whether a rule and a tier exist for which the silence covers an alert of the subject.
func (s Silence) canCover(book rule.Book, of *rule.Subject) bool {
	labels := maps.Clone(of.Labels)
	labels[rule.LabelKind] = string(of.Kind)
	for _, name := range book.Names {
		if _, ok := book.Find(name, of.Kind, of.Labels); !ok {
			continue
		}
		labels[rule.LabelRule] = name
		for t := dedup.Warning; t <= dedup.Emergency; t++ {
			if labels[rule.LabelTier] = t.String(); s.Covers(labels) {
				return true
			}
		}
	}
	return false
}
