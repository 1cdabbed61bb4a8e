package alert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/alerting"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/internal/text"
	"dedup-dashboard/web/templates"
)

const (
	// matcherRows is how many lines for matchers the form has at least, maxMatcherRows at most.
	matcherRows    = 3
	maxMatcherRows = 20
	defaultSilence = "1h"
)

// silenceForm is what the form of a new silence holds, as it came.
type silenceForm struct {
	matchers []alerts.Matcher
	span     string
	until    string
	reason   string
	// emergency: emergencies are silenced too.
	emergency bool
	preview   bool
	// seen are the marks of the fields whose preview the reader saw.
	seen string
}

// Marks tell the fields that decide what a silence covers, and for how long, from others. The reason is none of them.
func (f silenceForm) marks() string {
	v := url.Values{"for": {cmp.Or(f.span, defaultSilence)}, "until": {f.until}, "emergency": {strconv.FormatBool(f.emergency)}}
	for _, m := range f.matchers {
		v["matcher"] = append(v["matcher"], m.String())
	}
	sum := sha256.Sum256([]byte(v.Encode()))
	return hex.EncodeToString(sum[:8])
}

// readSilenceForm reads the form, or the address that fills it in: ?pipeline=orders&rule=duplicate_rate&for=4h.
func readSilenceForm(v url.Values) silenceForm {
	f := silenceForm{
		span: v.Get("for"), until: strings.TrimSpace(v.Get("until")), reason: strings.TrimSpace(v.Get("reason")),
		emergency: v.Get("emergency") != "", preview: v.Get("preview") != "", seen: v.Get("seen"),
	}
	ops, values := v["op"], v["value"]
	for i, label := range v["label"] {
		m := alerts.Matcher{Name: strings.TrimSpace(label), Op: alerts.MatchEqual}
		if i < len(ops) && ops[i] != "" {
			m.Op = alerts.MatchOp(ops[i])
		}
		if i < len(values) {
			m.Value = values[i]
		}
		if m.Name != "" && len(f.matchers) < maxMatcherRows {
			f.matchers = append(f.matchers, m)
		}
	}
	for _, name := range rule.Labels() {
		if value := v.Get(name); value != "" {
			f.matchers = append(f.matchers, alerts.Matcher{Name: name, Op: alerts.MatchEqual, Value: value})
		}
	}
	return f
}

// silence returns the silence that the form asks for, from now on. Unless emergencies are to be silent too, or a matcher speaks of
// tiers, they are left out.
func (f silenceForm) silence(author string, now time.Time) (alerts.Silence, error) {
	one := alerts.Silence{Matchers: slices.Clone(f.matchers), Author: author, Reason: f.reason, Starts: now, Created: now}
	tiers := slices.ContainsFunc(one.Matchers, func(m alerts.Matcher) bool { return m.Name == rule.LabelTier })
	if !f.emergency && !tiers && len(one.Matchers) > 0 {
		one.Matchers = append(one.Matchers, alerts.Matcher{Name: rule.LabelTier, Op: alerts.MatchNotEqual, Value: dedup.Emergency.String()})
	}
	if f.until == "" {
		span, err := parseSpan(cmp.Or(f.span, defaultSilence), maxSilenceDays)
		one.Ends = now.Add(span)
		return one, err
	}
	until, err := f.end(now)
	if err != nil {
		return one, list.Bad("until", "must be a time such as 15:00, tomorrow 09:00 or 2026-11-21T14:00")
	}
	if !until.At.After(now) {
		return one, list.Bad("until", "must be a time to come")
	}
	one.Ends = until.At
	return one, nil
}

// end reads until when the silence is to hold. Of a time that comes twice it is the first: a silence that is over early hides nothing.
func (f silenceForm) end(now time.Time) (text.Moment, error) {
	return text.Reader{Now: now, Ahead: true}.Read(f.until)
}

// endDoubt says what was made of an end that the clocks of the reader show twice, or never; empty where it is clear.
func (f silenceForm) endDoubt(now time.Time) string {
	if f.until == "" {
		return ""
	}
	end, err := f.end(now)
	switch {
	case err != nil:
		return ""
	case end.Skipped:
		return " The clocks of " + show.ZoneWord(now) + " are put forward over the time that was asked for: it ends then."
	case !end.Again.IsZero():
		return " The clocks of " + show.ZoneWord(now) + " show that time twice: it ends the first time."
	}
	return ""
}

// askedSilence is a silence as the service takes it.
func askedSilence(one alerts.Silence) alerting.NewSilence {
	asked := alerting.NewSilence{Author: one.Author, Reason: one.Reason, Starts: one.Starts, Ends: one.Ends}
	for _, m := range one.Matchers {
		asked.Matchers = append(asked.Matchers, alerting.SilenceMatcher{Label: m.Name, Op: string(m.Op), Value: m.Value})
	}
	return asked
}

// silenceForm is the page with the form filled in.
func (s pages) silenceForm(r *web.Request, f silenceForm, frame templates.Frame) templates.SilenceFormView {
	v := templates.SilenceFormView{
		Frame: frame, Preview: frame.Base + "/silences/new", WhyNot: s.whyNoAttending(r), Given: strings.Join(rule.Labels(), ", "), Labels: alertLabels(s.deps.Snapshots.Snapshot()),
		Until: f.until, Zone: web.Zone(r).String(), Reason: f.reason, Emergency: f.emergency, Durations: spans(defaultSilence),
	}
	if f.span != "" {
		v.Durations = spans(f.span)
		if !slices.ContainsFunc(v.Durations, func(c templates.Choice) bool { return c.Chosen }) {
			v.Durations = append(v.Durations, templates.Choice{Value: f.span, Label: show.ShortName(f.span), Chosen: true})
		}
	}
	rows := slices.Clone(f.matchers)
	for len(rows) < matcherRows || len(rows) == len(f.matchers) && len(rows) < maxMatcherRows {
		rows = append(rows, alerts.Matcher{Op: alerts.MatchEqual})
	}
	for i, m := range rows {
		v.Rows = append(v.Rows, templates.MatcherRow{Number: templates.Number(i + 1), Label: m.Name, Value: m.Value, Ops: opChoices(m.Op)})
	}
	return v
}

// opChoices are the ways to compare; one that is none of them chooses the first.
func opChoices(chosen alerts.MatchOp) []templates.Choice {
	var out []templates.Choice
	for _, c := range []struct {
		op    alerts.MatchOp
		label string
	}{
		{alerts.MatchEqual, "is"}, {alerts.MatchNotEqual, "is not"}, {alerts.MatchRegexp, "matches (regular expression)"},
		{alerts.MatchNotRegexp, "does not match (regular expression)"},
	} {
		out = append(out, templates.Choice{Value: string(c.op), Label: c.label, Chosen: c.op == chosen})
	}
	return out
}

// alertLabels are the labels that alerts have: those that they are given, then those of the pipelines.
func alertLabels(snap *dedup.Snapshot) []string {
	names := map[string]bool{}
	for i := range snap.Pipelines {
		for name := range snap.Pipelines[i].Pipeline.Labels {
			names[name] = true
		}
	}
	for _, name := range rule.Labels() {
		delete(names, name)
	}
	return append(rule.Labels(), slices.Sorted(maps.Keys(names))...)
}

// Marks are the marks of the fields of a form, which it sends along where its reader saw their preview.
func Marks(v url.Values) string { return readSilenceForm(v).marks() }
