package ruletest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A Failure is one alert that was not as expected at one time.
type Failure struct {
	File string
	Line int
	// Test is its name, At the time since its beginning.
	Test string
	At   time.Duration
	Key  rule.Key
	// Want and Got are one line each.
	Want, Got string
}

// String writes the failure on three lines: where, what was expected, and what was.
func (f Failure) String() string {
	return fmt.Sprintf("%s:%d: %s, at %s: %s\n  expected %s\n  got      %s",
		f.File, f.Line, f.Test, span(f.At), subjectText(f.Key), f.Want, f.Got)
}

// compare compares the alerts at one time with those that are expected.
func (f *File) compare(t *test, l look, shown []*alerts.AlertView) []Failure {
	var failures []Failure
	fail := func(line int, key rule.Key, want, got string) {
		failures = append(failures, Failure{File: f.name, Line: line, Test: t.name, At: l.at, Key: key, Want: want, Got: got})
	}
	listed := make(map[rule.Key]bool)
	for _, e := range l.alerts {
		listed[e.key] = true
		i := slices.IndexFunc(shown, func(a *alerts.AlertView) bool { return a.Key == e.key })
		switch {
		case i < 0:
			fail(e.line, e.key, e.String(), "no alert: the rule is switched off, or does not judge this "+string(e.key.Kind))
		case !e.matches(shown[i]):
			fail(e.line, e.key, e.String(), describe(shown[i]))
		}
	}
	for _, a := range shown {
		if a.State.Tier > dedup.Normal && !listed[a.Key] && a.Key.Rule != alerts.RuleWatchdog {
			fail(l.line, a.Key, "normal, since it is not listed", describe(a))
		}
	}
	return failures
}

func (e expected) matches(a *alerts.AlertView) bool {
	return tierOf(a) == e.tier &&
		(e.pending == nil || *e.pending == a.Pending()) &&
		(e.phase == nil || *e.phase == a.State.Phase) &&
		(e.health == nil || *e.health == a.State.Health)
}

// tierOf is what fires; normal where nothing was ever judged.
func tierOf(a *alerts.AlertView) dedup.Tier { return max(a.State.Tier, dedup.Normal) }

// String writes what is expected in the words of the file.
func (e expected) String() string {
	words := []string{e.tier.String()}
	if e.pending != nil {
		words = append(words, "pending "+pendingTier(*e.pending).String())
	}
	if e.phase != nil {
		words = append(words, "phase "+e.phase.String())
	}
	if e.health != nil {
		words = append(words, "health "+e.health.String())
	}
	return strings.Join(words, ", ")
}

// describe writes in one line what an alert is, since when, and why.
func describe(a *alerts.AlertView) string {
	s := a.State
	words := []string{tierOf(a).String()}
	if !s.Since.IsZero() {
		words[0] += " since " + since(s.Since)
	}
	if t := a.Pending(); t != dedup.TierUnknown {
		words = append(words, fmt.Sprintf("pending %s since %s", t, since(s.Reached[t-dedup.Warning])))
	}
	words = append(words, "phase "+s.Phase.String())
	if !s.Calm().IsZero() {
		words[len(words)-1] += " since " + since(s.Calm())
	}
	words = append(words, "health "+s.Health.String())
	if s.Health == rule.HealthOK {
		words = append(words, "value "+inUnit(a.Last.Value, a.Last.Unit))
		if a.Last.Limit > 0 {
			words = append(words, "limit "+inUnit(a.Last.Limit, a.Last.Unit))
		}
	}
	return strings.Join(words, ", ") + ": " + a.Last.Why
}

// inUnit writes a value unrounded, as the file would.
func inUnit(v float64, u dedup.Unit) string {
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
	switch u {
	case dedup.Ratio:
		return short(v*100) + "%"
	case dedup.Seconds:
		return short(v) + "s"
	default:
		return short(v)
	}
}

// subjectText names an alert as people do.
func subjectText(k rule.Key) string {
	if k.Subject == "" {
		return k.Rule
	}
	return fmt.Sprintf("%s of %s %s", k.Rule, k.Kind, k.Subject)
}

func since(at time.Time) string { return span(at.Sub(beginning())) }

// span writes a duration as the file does: 2m and not 2m0s.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
