// Package effects shows business keys whose work was done more than once: their list, and what the page of a pipeline says of them.
package effects

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// Section shows the double effects of a pipeline, at most so many from the first on.
func Section(p *dedup.PipelineStatus, path string, number, most int, now time.Time) templates.EffectsView {
	e := p.Effects
	v := templates.EffectsView{Href: path + "/effects", CSV: path + "/effects.csv"}
	if e == nil {
		v.Missing = true
		return v
	}
	v.State, v.Facts = state(e, now), facts(e, now)
	if e.Err != "" {
		v.Problem = &templates.Problem{Tier: dedup.Warning.String(), Text: show.Statement("The newest effect check failed " + show.Ago(e.LastTry, now) + ": " + show.Within(e.Err)), Remedy: next(e, now)}
	}
	if e.At.IsZero() {
		return v
	}
	v.Ran, v.Total = true, len(e.Keys)
	if v.Total > 0 {
		v.Line = line(e, now)
	}
	v.Notes = notes(e)
	for _, k := range list.Page(e.Keys, most, number) {
		row := templates.EffectRow{Key: show.Key(k.Key), Count: templates.Number(k.Count), Found: "at the first check, or behind a cut"}
		if k.Key == "" {
			row.Key = show.Key("(empty)")
		}
		if !k.Found.IsZero() {
			row.At, row.Fresh, row.Found = show.Moment(k.Found, now), now.Sub(k.Found) < 24*time.Hour, ""
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// state says in a few words what the check has to say.
func state(e *dedup.EffectCheck, now time.Time) string {
	switch {
	case e.At.IsZero() && e.Err != "":
		return "It has not succeeded yet."
	case e.At.IsZero():
		return "It has not run yet; the first run begins within " + templates.Span(max(time.Minute, e.Next.Sub(now))) + "."
	case e.Total == 0:
		return "No business key was done more than once, " + show.Ago(e.At, now) + "."
	}
	return ""
}

// line counts the keys and says how many of them are new.
func line(e *dedup.EffectCheck, now time.Time) templates.Text {
	least := ""
	if e.AtLeast {
		least = "at least "
	}
	fresh := templates.Number(e.Fresh)
	if e.FreshAtLeast {
		fresh = "at least " + fresh
	}
	text := least + show.Counted(e.Total, "business key") + " " + show.Plural(e.Total, "was", "were") + " done more than once, as of " + show.Ago(e.At, now) + ": " +
		fresh + " new in the last 24 h"
	if e.Baseline > 0 {
		text += ", " + templates.Number(e.Baseline) + " there at the first check, " + show.Moment(e.Since, now).Text
	}
	return show.Statement(text)
}

func next(e *dedup.EffectCheck, now time.Time) templates.Text {
	if !e.Next.After(now) {
		return show.Statement("the next run is due")
	}
	return show.Statement("the next run is in " + templates.Span(e.Next.Sub(now)))
}

func facts(e *dedup.EffectCheck, now time.Time) []templates.Fact {
	facts := []templates.Fact{{Label: "Runs every", Value: templates.Span(e.Every)}}
	add := func(label, value string) { facts = append(facts, templates.Fact{Label: label, Value: value}) }
	if !e.At.IsZero() {
		add("Last success", show.Moment(e.At, now).Text+", "+show.Ago(e.At, now))
		add("Took", templates.Latency(e.Took.Seconds())+" of "+templates.Span(e.Timeout))
		add("First success", show.Moment(e.Since, now).Text)
	}
	if e.Next.After(now) {
		add("Next run", "in "+templates.Span(e.Next.Sub(now)))
	}
	return facts
}

// notes say what of the answer is not in the list.
func notes(e *dedup.EffectCheck) []string {
	var notes []string
	if e.AtLeast {
		notes = append(notes, "The answer is longer than max_rows: there are more keys, and which of them are new cannot be told. Narrow the query to recent rows, or raise effect_check.max_rows.")
	}
	if e.NullRows > 0 {
		notes = append(notes, show.Counted(e.NullRows, "row")+" of the answer without a key (NULL) "+show.Plural(e.NullRows, "is", "are")+" left out: they cannot be told apart.")
	}
	if e.SingleRows > 0 {
		notes = append(notes, show.Counted(e.SingleRows, "row")+" of the answer with a count below 2 "+show.Plural(e.SingleRows, "is", "are")+" left out: add HAVING COUNT(*) > 1 to the query.")
	}
	return notes
}
