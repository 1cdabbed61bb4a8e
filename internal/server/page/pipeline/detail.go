package pipeline

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// markerViews fills the section of the markers: by state, the pass they come from, and the records that need eyes.
func markerViews(v *templates.PipelineView, snap *dedup.Snapshot, p *dedup.PipelineStatus, who web.Reader, now time.Time) {
	v.Store = show.ShortName(p.Pipeline.Store)
	if p.Pipeline.Store != "" {
		v.MarkersHref, v.MarkersLink = v.Range.Action+"/markers", "All markers"
		if note := show.StuckNote(p.Stuck); note != "" {
			v.MarkersLink += ": " + note
		}
	}
	total := 0.0
	for _, f := range p.Markers {
		if f.Known() {
			total += f.Value
		}
	}
	for _, state := range dedup.States() {
		f, ok := p.Markers[state]
		if !ok {
			continue
		}
		c := templates.StateCount{State: string(state), Count: show.Reading(f, now)}
		if f.Known() && f.Value > 0 {
			c.Share = max(1, int(f.Value/total*1000))
		}
		v.States = append(v.States, c)
	}
	for i := range snap.Stores {
		if snap.Stores[i].Name == p.Pipeline.Store {
			storeDetail(v, &snap.Stores[i], p, who, now)
		}
		if p.Pipeline.Lock != "" && snap.Stores[i].Name == p.Pipeline.Lock {
			v.MarkerFacts = append(v.MarkerFacts, templates.Fact{Label: "Lock", Value: lockText(&snap.Stores[i], now)})
		}
	}
}

func storeDetail(v *templates.PipelineView, st *dedup.StoreStatus, p *dedup.PipelineStatus, who web.Reader, now time.Time) {
	add := func(label, value string) {
		v.MarkerFacts = append(v.MarkerFacts, templates.Fact{Label: label, Value: value})
	}
	add("Never expire", noExpiryText(p))
	add("Oldest processing", oldestText(p))
	add("Last complete pass", show.PassText(st.Stats, now))
	if show.UnderWay(st.Stats.Progress) {
		add("Pass under way", show.CoverageText(st.Stats.Progress))
	}
	add("Scheme", show.SchemeText(st.Scheme))
	pass := st.Stats.Pass
	if pass == nil {
		return
	}
	if pass.Retrying > 0 {
		add("Being retried", templates.Number(pass.Retrying))
	}
	// The list of a pass is longer than a page of a pipeline should be; the page of the markers has all of it.
	const most = 10
	line := func(m dedup.Marker) templates.MarkerLine {
		m = who.Masked(m, who.Who)
		m.Store = cmp.Or(m.Store, st.Name)
		return web.MarkerLine(web.JudgedMarker{Marker: m}, v.Frame.Base, pass.ClockOffset, now)
	}
	for _, m := range pass.OldestProcessing[:min(most, len(pass.OldestProcessing))] {
		v.Oldest = append(v.Oldest, line(m))
	}
	for _, m := range pass.Undecodable {
		v.Undecodable = append(v.Undecodable, line(m))
	}
}

// lockText says of the store of locks beside the markers how many are held, by its last pass, and what its consumers do.
func lockText(st *dedup.StoreStatus, now time.Time) string {
	held := "not walked over yet"
	if pass := st.Stats.Pass; pass != nil {
		held = templates.Number(pass.States[dedup.Processing]) + " held, pass of " + show.Ago(pass.Ended, now)
	}
	return show.ShortName(st.Name) + ": " + held + "; " + show.SchemeText(st.Scheme)
}

// oldestText is the age of the longest processing marker: none when nothing is processed, unknown only with its reason.
func oldestText(p *dedup.PipelineStatus) string {
	if f := p.OldestProcessing; f.Known() {
		return ageText(f)
	}
	n := show.Processing(p)
	if n.Known() && n.Value == 0 && !n.AtLeast {
		return "none"
	}
	return unknownText(p, cmp.Or(p.OldestProcessing.Why, n.Why))
}

// noExpiryText is how many markers never expire: unknown only with its reason.
func noExpiryText(p *dedup.PipelineStatus) string {
	if f := p.MarkersNoExpiry; f.Known() {
		return show.FigureText(f)
	}
	return unknownText(p, p.MarkersNoExpiry.Why)
}

// unknownText says why a fact is unknown.
func unknownText(p *dedup.PipelineStatus, why string) string {
	return "unknown: " + templates.Sentence(show.ShortWhy(p, cmp.Or(why, "no reading yet"))).Short
}

func deadLetterViews(v *templates.PipelineView, p *dedup.PipelineStatus, now time.Time) {
	v.QueuesNote = "None is configured, and none was found from queue arguments, policies and bindings. Messages that are rejected are dropped."
	if p.Pipeline.DiscoverDeadLetters && len(p.Down) > 0 {
		v.QueuesNote = "None is known: the broker has not answered yet."
	}
	v.Routes, v.Deaths = show.Routes(p), show.Deaths(p.BrokerDeaths, now)
	for _, q := range p.DeadLetterQueues {
		v.Queues = append(v.Queues, templates.DeadLetterRow{
			Href:  v.Range.Action + "/dead-letters?" + url.Values{"queue": {q.Name}}.Encode(),
			Queue: show.Key(q.Name), Vhost: show.Name(q.Vhost), Type: show.ShortName(q.Type),
			Found: templates.Sentence(show.Found(q)), Depth: show.Reading(q.Depth, now),
			Consumers: show.Reading(q.Consumers, now),
		})
	}
}

// sourceErr is the error of a source, once: that of a source which is down stands at the top of the page.
func sourceErr(p *dedup.PipelineStatus, h dedup.SourceHealth) string {
	if h.Err != "" && slices.ContainsFunc(p.Down, func(d dedup.SourceHealth) bool { return d.Err == h.Err }) {
		return "The reason stands at the top of this page."
	}
	return show.EndSentence(h.Err)
}

// sourceRows are the sources that the pipeline depends on; all of them when it names none.
func sourceRows(snap *dedup.Snapshot, p *dedup.PipelineStatus, now time.Time) []templates.SourceRow {
	var rows []templates.SourceRow
	for _, h := range snap.Sources {
		if len(p.Sources) > 0 && !slices.Contains(p.Sources, h.Name) {
			continue
		}
		word, tier := show.SourceWord(h)
		row := templates.SourceRow{
			Name: show.Name(h.Name), Tier: tier, Word: word, Since: show.Moment(h.Since, now), Last: show.Since(h.LastSuccess, now),
			Took: "unknown", Missed: templates.Number(h.Missed), Err: templates.Sentence(sourceErr(p, h)),
		}
		if h.Took > 0 {
			row.Took = templates.Latency(h.Took.Seconds())
		}
		rows = append(rows, row)
	}
	return rows
}
