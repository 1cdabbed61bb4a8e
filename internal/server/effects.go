package server

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// effectsShown is how many business keys the page of a pipeline lists; the list of its own has all of them.
const effectsShown = 50

// effectsPerPage is how many business keys the list has on a page.
const effectsPerPage = 200

// effectsSection shows the double effects of a pipeline, at most so many from the first on.
func effectsSection(p *dedup.PipelineStatus, path string, number, most int, now time.Time) templates.EffectsView {
	e := p.Effects
	v := templates.EffectsView{Store: p.Pipeline.Store, Href: path + "/effects", CSV: path + "/effects.csv"}
	if e == nil {
		v.Missing = true
		return v
	}
	v.State, v.Facts = effectState(e, now), effectFacts(e, now)
	if e.Err != "" {
		v.Problem = &templates.Problem{Tier: dedup.Warning.String(), Text: show.Statement("The newest effect check failed " + show.Ago(e.LastTry, now) + ": " + show.Within(e.Err)), Mend: effectNext(e, now)}
	}
	if e.At.IsZero() {
		return v
	}
	v.Ran, v.Total = true, len(e.Keys)
	if v.Total > 0 {
		v.Line = effectLine(e, now)
	}
	v.Notes = effectNotes(e)
	for _, k := range list.Page(e.Keys, most, number) {
		row := templates.EffectRow{Key: templates.Plain(k.Key, show.KeyLimit), Count: templates.Number(float64(k.Count)), Found: "at the first check, or behind a cut"}
		if k.Key == "" {
			row.Key = templates.Plain("(empty)", show.KeyLimit)
		}
		if !k.Found.IsZero() {
			row.At, row.Fresh, row.Found = show.Moment(k.Found, now), now.Sub(k.Found) < 24*time.Hour, ""
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// effectState says in a few words what the check has to say.
func effectState(e *dedup.EffectCheck, now time.Time) string {
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

// effectLine counts the keys and says how many of them are new.
func effectLine(e *dedup.EffectCheck, now time.Time) templates.Text {
	least := ""
	if e.AtLeast {
		least = "at least "
	}
	fresh := templates.Number(float64(e.Fresh))
	if e.FreshAtLeast {
		fresh = "at least " + fresh
	}
	text := least + show.Counted(int(e.Total), "business key") + " " + show.Plural(e.Total, "was", "were") + " done more than once, as of " + show.Ago(e.At, now) + ": " +
		fresh + " new in the last 24 h"
	if e.Baseline > 0 {
		text += ", " + templates.Number(float64(e.Baseline)) + " there at the first check, " + show.Moment(e.Since, now).Text
	}
	return show.Statement(text)
}

func effectNext(e *dedup.EffectCheck, now time.Time) templates.Text {
	if !e.Next.After(now) {
		return show.Statement("the next run is due")
	}
	return show.Statement("the next run is in " + templates.Span(e.Next.Sub(now)))
}

func effectFacts(e *dedup.EffectCheck, now time.Time) []templates.Fact {
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

// effectNotes say what of the answer is not in the list.
func effectNotes(e *dedup.EffectCheck) []string {
	var notes []string
	if e.AtLeast {
		notes = append(notes, "The answer is longer than max_rows: there are more keys, and which of them are new cannot be told. Narrow the query to recent rows, or raise effect_check.max_rows.")
	}
	if e.NullRows > 0 {
		notes = append(notes, show.Counted(int(e.NullRows), "row")+" of the answer without a key (NULL) "+show.Plural(e.NullRows, "is", "are")+" left out: they cannot be told apart.")
	}
	if e.SingleRows > 0 {
		notes = append(notes, show.Counted(int(e.SingleRows), "row")+" of the answer with a count below 2 "+show.Plural(e.SingleRows, "is", "are")+" left out: add HAVING COUNT(*) > 1 to the query.")
	}
	return notes
}

// effectsOf returns the pipeline of a request.
func (s *Server) effectsOf(r *web.Request) (*dedup.Snapshot, *dedup.PipelineStatus, error) {
	snap := s.snapshots.Snapshot()
	p, ok := snap.Pipeline(r.PathValue("name"))
	if !ok {
		return nil, nil, web.NoPipeline(r.PathValue("name"))
	}
	return snap, p, nil
}

// effects answers the list of the business keys whose work was done more than once.
func (s *Server) effects(r *web.Request) (web.Response, error) {
	snap, p, err := s.effectsOf(r)
	if err != nil {
		return nil, err
	}
	var number int
	if err := list.Read(r.URL.Query(), list.PageNumber(&number)); err != nil {
		return nil, err
	}
	now := time.Now().In(web.Zone(r))
	name := templates.Plain(p.Pipeline.Name, show.NameLimit)
	frame := s.frame(r, "Double effects of "+name.Short)
	frame.Live = web.Live("pipeline:" + p.Pipeline.Name)
	path := frame.Base + "/pipelines/" + url.PathEscape(p.Pipeline.Name)
	v := templates.EffectsPage{
		Frame: frame, Name: name, Pipeline: path, Self: path + "/effects?page=" + strconv.Itoa(number), AsOf: show.Moment(snap.At, now),
		Every: templates.Span(snap.Interval), Seconds: int(snap.Interval.Seconds()), Late: show.Late(snap, now),
		Effects: effectsSection(p, path, number, effectsPerPage, now),
	}
	if number > 1 {
		v.Newer = path + "/effects?page=" + strconv.Itoa(number-1)
	}
	if v.Effects.Total > number*effectsPerPage {
		v.Older = path + "/effects?page=" + strconv.Itoa(number+1)
	}
	return web.Page{Status: http.StatusOK, Component: templates.Effects(v)}, nil
}

// effectsCSV answers the list as a table, to be worked through by whoever undoes the second effects.
func (s *Server) effectsCSV(r *web.Request) (web.Response, error) {
	_, p, err := s.effectsOf(r)
	if err != nil {
		return nil, err
	}
	e := p.Effects
	if e == nil {
		return nil, noEffectCheck(p)
	}
	if e.At.IsZero() {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "The effect check has not succeeded yet; " + show.Within(orWords(e.Err, "it has not run"))}
	}
	table := list.NewTable(p.Pipeline.Name+"-double-effects.csv", []list.Column[dedup.EffectKey]{
		{Head: "business_key", Cell: func(k dedup.EffectKey) string { return templates.Escape(k.Key) }},
		{Head: "count", Cell: func(k dedup.EffectKey) string { return list.Whole(k.Count) }},
		{Head: "found", Cell: func(k dedup.EffectKey) string { return list.Time(k.Found) }},
		{Head: "checked", Cell: func(dedup.EffectKey) string { return list.Time(e.At) }},
	}, e.Keys)
	table.Notes = effectNotes(e)
	return web.CSV{Table: table}, nil
}

func noEffectCheck(p *dedup.PipelineStatus) error {
	return &dedup.Error{Kind: dedup.NotFound, Public: "Pipeline " + show.Within(p.Pipeline.Name) + " has no effect check: add effect_check to it in the configuration"}
}

func orWords(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// effectsJSON is the answer of /api/v1/pipelines/{name}/effects. What no run has told is null.
type effectsJSON struct {
	Pipeline string     `json:"pipeline"`
	At       *time.Time `json:"at"`
	LastTry  *time.Time `json:"last_try"`
	Next     *time.Time `json:"next"`
	Every    float64    `json:"every_seconds"`
	Took     *float64   `json:"took_seconds"`
	// Error says why the newest run failed; empty when it succeeded.
	Error string     `json:"error"`
	Since *time.Time `json:"since"`
	// Total counts the keys; AtLeast says that the answer was cut. Fresh are those of the last 24 hours, Baseline those of the first run.
	Total      *int64          `json:"total"`
	AtLeast    bool            `json:"at_least"`
	Fresh      *int64          `json:"fresh"`
	Baseline   *int64          `json:"baseline"`
	NullRows   *int64          `json:"null_rows"`
	SingleRows *int64          `json:"single_rows"`
	Keys       []effectKeyJSON `json:"keys"`
}

type effectKeyJSON struct {
	Key   string `json:"business_key"`
	Count int64  `json:"count"`
	// Found is null for a key that was there at the first run, or may have been.
	Found *time.Time `json:"found"`
	Hash  string     `json:"key_sha256_128"`
}

// apiEffects gives what the effect check of a pipeline found.
func (s *Server) apiEffects(r *web.Request) (web.Response, error) {
	snap, p, err := s.effectsOf(r)
	if err != nil && snap == nil && s.snapshots.Snapshot().Round == 0 {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "Nothing is known yet: the first round has not ended; try again in a moment"}
	}
	if err != nil {
		return nil, err
	}
	e := p.Effects
	if e == nil {
		return nil, noEffectCheck(p)
	}
	body := effectsJSON{Pipeline: p.Pipeline.Name, At: web.Time(e.At), LastTry: web.Time(e.LastTry), Next: web.Time(e.Next), Every: e.Every.Seconds(), Error: e.Err, Since: web.Time(e.Since), Keys: []effectKeyJSON{}}
	if !e.At.IsZero() {
		body.Took, body.Total, body.AtLeast, body.Fresh, body.Baseline = web.Number(e.Took.Seconds()), &e.Total, e.AtLeast, &e.Fresh, &e.Baseline
		body.NullRows, body.SingleRows = &e.NullRows, &e.SingleRows
	}
	for _, k := range e.Keys {
		body.Keys = append(body.Keys, effectKeyJSON{k.Key, k.Count, web.Time(k.Found), k.ID})
	}
	return web.JSON{Value: body}, nil
}
