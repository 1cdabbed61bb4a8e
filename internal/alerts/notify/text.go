package notify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// words is a notification as people read it: cleaned and without markup, which each channel adds after it has escaped them. Links are
// whole addresses that are fit to be one.
type words struct {
	subject string
	// tier is the worst that fires; normal where nothing does.
	tier  dedup.Tier
	intro []string
	told  []told
	outro []string
	link  string
}

// told is one alert in words.
type told struct {
	// headline says tier, subject and value against limit in one line.
	headline string
	tier     dedup.Tier
	// lines say the rest, and runbook where to read more; empty where only the headline is told.
	lines         []line
	link, runbook string
}

// A line is a name and what there is to say under it.
type line struct{ name, text string }

// A cut says how much of a notification is told: everything of the first full alerts, and the headline of others up to listed.
type cut struct{ full, listed int }

// cuts are how a message gets shorter until its channel takes it: a digest in the end.
func cuts(n alerts.Notification) []cut {
	all := len(n.Alerts)
	short := []cut{{0, min(all, 50)}, {0, min(all, 20)}, {0, min(all, 10)}, {0, min(all, 5)}, {0, min(all, 1)}, {0, 0}}
	if n.Kind == alerts.NotifyDigest {
		return short
	}
	return append([]cut{{min(all, 5), min(all, 50)}, {min(all, 5), min(all, 20)}, {min(all, 2), min(all, 20)}, {min(all, 1), min(all, 20)}}, short...)
}

// fit renders a notification as whole as the channel takes it; fits decides.
func fit[T any](n alerts.Notification, render func(words) T, fits func(T) bool) (out T) {
	for _, c := range cuts(n) {
		if out = render(describe(n, c)); fits(out) {
			break
		}
	}
	return out
}

// A markup is how a channel writes the parts of a message as text: formats of what escape has made fit.
type markup struct {
	escape                                  func(string) string
	subject, headline, line, alert, runbook string
}

// single reports whether the first line of a message says the same as that of its only alert.
func (w words) single() bool { return len(w.told) == 1 && w.told[0].headline == w.subject }

// text writes a message up to its last line, which is each channel's own.
func (w words) text(m markup) string {
	var b strings.Builder
	put := func(format string, texts ...any) { fmt.Fprintf(&b, format, texts...) }
	put(m.subject, m.escape(w.subject))
	for _, l := range w.intro {
		put("%s\n\n", m.escape(l))
	}
	for _, t := range w.told {
		if !w.single() {
			put(m.headline, m.escape(t.headline))
		}
		for _, l := range t.lines {
			put(m.line, l.name, m.escape(l.text))
		}
		if t.link != "" {
			put(m.alert, t.link)
		}
		if t.runbook != "" {
			put(m.runbook, t.runbook)
		}
		put("\n")
	}
	for _, l := range w.outro {
		put("%s\n\n", m.escape(l))
	}
	return b.String()
}

// describe puts a notification into words.
func describe(n alerts.Notification, c cut) words {
	w := words{tier: dedup.Normal, link: safeLink(n.ExternalURL)}
	for i := range n.Alerts {
		a := &n.Alerts[i]
		if a.Firing && a.Tier.Rank() < w.tier.Rank() {
			w.tier = a.Tier
		}
		if i < c.listed {
			w.told = append(w.told, tell(a, n.At, i < c.full))
		}
	}
	left := n.LeftOut + len(n.Alerts) - len(w.told)
	w.subject = subject(n, w)
	w.intro = intro(n, len(w.told), left)
	if left > 0 && len(w.told) > 0 {
		w.outro = append(w.outro, plural(left, "more alert is", "more alerts are")+" not listed here; the dashboard shows all.")
	}
	if n.Repeated {
		w.outro = append(w.outro, "This may have been delivered before: the dashboard was stopped while it sent it, or got no answer in time.")
	}
	return w
}

// subject is the one line that a lock screen shows.
func subject(n alerts.Notification, w words) string {
	total := len(n.Alerts) + n.LeftOut
	text, _ := lines(n.Text)
	switch n.Kind {
	case alerts.NotifyTest:
		return "[TEST] " + cmp.Or(text, "a test of this channel; nothing is wrong")
	case alerts.NotifyReminder:
		return "[REMINDER] " + cmp.Or(text, "a silence is about to expire")
	case alerts.NotifyWatchdog:
		return "[WATCHDOG] " + cmp.Or(text, "the dashboard evaluates its rules")
	}
	if len(n.Alerts) == 0 {
		return cmp.Or(text, plural(total, "alert", "alerts"))
	}
	mark, only := tag(w.tier), &n.Alerts[0]
	switch {
	case n.Kind == alerts.NotifyDigest:
		return fmt.Sprintf("%s %s at once, the worst %s", mark, plural(total, "alert", "alerts"), rule.Number(float64(len(n.Alerts))))
	case n.Kind == alerts.NotifyFlapping && total == 1:
		return fmt.Sprintf("%s %s: %s flaps", mark, who(only), title(only))
	case n.Kind == alerts.NotifyFlapping:
		return fmt.Sprintf("%s %s: %s", mark, plural(total, "alert flaps", "alerts flap"), named(n))
	case total == 1:
		return headline(only, n.At)
	}
	return fmt.Sprintf("%s %s%s: %s", mark, plural(total, "alert", "alerts"), shares(n), named(n))
}

// namedMost is how many alerts of a group the first line names.
const namedMost = 3

// named says what the alerts of a message are, "dead letters of orders 12, of mail 3", the worst first, and of those that are over only
// where none fires.
func named(n alerts.Notification) string {
	list := slices.Clone(n.Alerts)
	if fires := func(a alerts.NotifiedAlert) bool { return a.Firing }; slices.ContainsFunc(list, fires) {
		list = slices.DeleteFunc(list, func(a alerts.NotifiedAlert) bool { return !a.Firing })
	}
	var parts []string
	for i := range list[:min(len(list), namedMost)] {
		a, part := &list[i], ""
		if i == 0 || title(a) != title(&list[i-1]) {
			part = title(a) + " "
		}
		part += "of " + who(a)
		if a.Firing && measured(a) {
			part += " " + rule.ValueText(a.Value, a.Unit)
		}
		parts = append(parts, part)
	}
	if more := len(list) + n.LeftOut - len(parts); more > 0 {
		parts = append(parts, rule.Number(float64(more))+" more")
	}
	return strings.Join(parts, ", ")
}

// lines returns the first line of a text, and what follows it.
func lines(text string) (first, rest string) {
	first, rest, _ = strings.Cut(text, "\n")
	return clean(first, maxText), clean(rest, maxText)
}

// shares says how many of the alerts fire, where all of them are known.
func shares(n alerts.Notification) string {
	firing := 0
	for i := range n.Alerts {
		if n.Alerts[i].Firing {
			firing++
		}
	}
	if n.LeftOut > 0 || firing == 0 || firing == len(n.Alerts) {
		return ""
	}
	return fmt.Sprintf(" (%d firing, %d resolved)", firing, len(n.Alerts)-firing)
}

// tag is the tier of a subject line; what does not fire is resolved.
func tag(t dedup.Tier) string {
	if t == dedup.Normal {
		return "[RESOLVED]"
	}
	return "[" + strings.ToUpper(t.String()) + "]"
}

// intro is said before the alerts.
func intro(n alerts.Notification, listed, left int) []string {
	var said []string
	switch n.Kind {
	case alerts.NotifyDigest:
		said = append(said, fmt.Sprintf("%s became active at about the same time; the worst %s told here in one message.",
			plural(len(n.Alerts)+n.LeftOut, "alert", "alerts"), plural(listed, "is", "are")))
	case alerts.NotifyFlapping:
		said = append(said, "The tier changes too often for each change to be told. Nothing more is sent until it has been calm for 15 minutes.")
	case alerts.NotifyReminder:
		if _, rest := lines(n.Text); rest != "" {
			said = append(said, rest)
		}
	case alerts.NotifyTest:
		said = append(said, "Somebody asked for this message, to see whether it arrives. Nothing is wrong.")
	case alerts.NotifyWatchdog:
		said = append(said, "This comes as long as the dashboard evaluates its rules. Something is wrong when it stays away.")
	}
	if listed == 0 && left > 0 {
		said = append(said, plural(left, "alert is", "alerts are")+" not listed here; the dashboard shows all.")
	}
	return said
}

// tell puts one alert into words.
func tell(a *alerts.NotifiedAlert, at time.Time, full bool) told {
	t := told{headline: headline(a, at), tier: a.Tier, link: safeLink(a.Link)}
	if !a.Firing {
		t.tier = dedup.Normal
	}
	if !full {
		return t
	}
	t.runbook = safeLink(a.Runbook)
	add := func(name, text string) {
		if text != "" {
			t.lines = append(t.lines, line{name, text})
		}
	}
	add("Tier", change(a))
	add(subjectName(a.Key.Kind), clean(a.Key.Subject, maxName))
	add("Rule", clean(a.Key.Rule, maxName))
	if measured(a) {
		add("Value", rule.ValueText(a.Value, a.Unit))
		if a.Limit > 0 {
			add("Limit", rule.ValueText(a.Limit, a.Unit))
		}
		add("Based on", basis(a))
	}
	add("Since", since(a, at))
	add("Why", clean(a.Why, maxText))
	if a.Stale {
		add("Stale", cmp.Or(clean(a.Missing, maxText), "it cannot be judged now")+"; it keeps its tier until it can be judged again")
	}
	add("Likely cause", clean(a.Cause, maxText))
	add("First step", clean(a.Step, maxText))
	return t
}

// headline says an alert in one line: [SEVERE] orders: duplicate rate 4.62 % (limit 3.00 %), 500 of 10,824 messages in 15 m.
func headline(a *alerts.NotifiedAlert, at time.Time) string {
	if a.GoesOn > dedup.Normal {
		return fmt.Sprintf("%s %s: %s, was %s", tag(a.GoesOn), who(a), title(a), a.Was)
	}
	if !a.Firing {
		text := fmt.Sprintf("[RESOLVED] %s: %s", who(a), title(a))
		if was := worstOf(a); was > dedup.Normal {
			text += ", was " + was.String()
		}
		if end := cmp.Or(a.EndsAt, at); !a.StartsAt.IsZero() && end.After(a.StartsAt) {
			text += ", fired for " + rule.Span(end.Sub(a.StartsAt)) // at all its tiers
		}
		return text
	}
	text := fmt.Sprintf("%s %s: %s", tag(a.Tier), who(a), title(a)) + amount(a)
	if a.Edge == alerts.EdgeEscalated || a.Edge == alerts.EdgeDeescalated {
		text += ", was " + a.Was.String()
	}
	if a.Stale {
		text += " [stale]"
	}
	return text
}

// measured reports whether an alert has a value that says something. Where there is no limit a finding made it, and says in words what
// it found.
func measured(a *alerts.NotifiedAlert) bool { return a.Unit != "" && (a.Limit > 0 || a.Why == "") }

// amount is the value of an alert against its limit, or what was found.
func amount(a *alerts.NotifiedAlert) string {
	switch {
	case measured(a):
	case a.Limit <= 0 && a.Why != "":
		return ": " + clean(a.Why, maxHeadline)
	default:
		return ""
	}
	text := " " + rule.ValueText(a.Value, a.Unit)
	if a.Limit > 0 {
		text += " (" + limitName(a) + " " + rule.ValueText(a.Limit, a.Unit) + ")"
	}
	if b := basis(a); b != "" {
		text += ", " + b
	}
	return text
}

// limitName says whose limit an alert tells of, where it is not that of its tier: it has been reached, and not for long enough yet.
func limitName(a *alerts.NotifiedAlert) string {
	if a.Reached > a.Tier {
		return a.Reached.String() + " limit"
	}
	return "limit"
}

// worstOf returns the tier that a resolved alert had.
func worstOf(a *alerts.NotifiedAlert) dedup.Tier {
	if a.Was > dedup.Normal {
		return a.Was
	}
	return a.Tier
}

// change says the tier, and from which one it came.
func change(a *alerts.NotifiedAlert) string {
	switch {
	case a.GoesOn > dedup.Normal:
		return a.GoesOn.String() + ", was " + a.Was.String()
	case !a.Firing && worstOf(a) > dedup.Normal:
		return "resolved, was " + worstOf(a).String()
	case !a.Firing:
		return "resolved"
	case a.Edge == alerts.EdgeEscalated:
		return a.Tier.String() + ", up from " + a.Was.String()
	case a.Edge == alerts.EdgeDeescalated:
		return a.Tier.String() + ", down from " + a.Was.String()
	case a.Edge == "":
		return a.Tier.String() + ", still"
	case a.Reached > a.Tier:
		return a.Tier.String() + ", and " + a.Reached.String() + " if it lasts"
	}
	return a.Tier.String()
}

// who names what an alert is about.
func who(a *alerts.NotifiedAlert) string {
	if name := clean(a.Key.Subject, maxName); slices.Contains([]rule.SubjectKind{rule.OfBroker, rule.OfStore, rule.OfQueue}, a.Key.Kind) {
		return string(a.Key.Kind) + " " + name // what is called main or orders says nothing on a lock screen
	} else if name != "" {
		return name
	}
	return string(rule.OfDashboard)
}

func title(a *alerts.NotifiedAlert) string {
	return cmp.Or(clean(a.Title, maxName), clean(a.Key.Rule, maxName))
}

func subjectName(kind rule.SubjectKind) string {
	switch kind {
	case rule.OfPipeline:
		return "Pipeline"
	case rule.OfBroker:
		return "Broker"
	case rule.OfStore:
		return "Store"
	case rule.OfQueue:
		return "Shared queue"
	default:
		return "Subject"
	}
}

// basis says how many events a value rests on, "500 of 10,824 in 15 m": of what they are the value and the line below it tell.
func basis(a *alerts.NotifiedAlert) string {
	var text string
	switch known := a.N > 0 && !math.IsInf(a.N, 0); {
	case known && a.Unit == dedup.Ratio && !math.IsNaN(a.Value) && !math.IsInf(a.Value, 0):
		text = rule.Number(math.Round(a.Value*a.N)) + " of " + rule.Number(a.N)
	case known && a.Value != a.N:
		text = "n = " + rule.Number(a.N)
	}
	if a.Window > 0 {
		text = strings.TrimSpace(text + " in " + rule.Span(a.Window))
	}
	return text
}

// since says from when an alert fires or fired, and for how long.
func since(a *alerts.NotifiedAlert, at time.Time) string {
	if a.StartsAt.IsZero() {
		return ""
	}
	text := moment(a.StartsAt)
	if a.Firing && a.Began.Before(a.StartsAt) && !a.Began.IsZero() {
		text = moment(a.Began) + ", fires since " + text
	}
	if !a.Firing && !a.EndsAt.IsZero() {
		return text + " until " + moment(a.EndsAt) + " (" + rule.Span(a.EndsAt.Sub(a.StartsAt)) + ")"
	}
	if at.After(a.StartsAt) {
		text += " (" + rule.Span(at.Sub(a.StartsAt)) + ")"
	}
	if a.Firing && !a.TierSince.IsZero() {
		text += ", " + a.Tier.String() + " since " + moment(a.TierSince)
		if at.After(a.TierSince) {
			text += " (" + rule.Span(at.Sub(a.TierSince)) + ")"
		}
	}
	return text
}
