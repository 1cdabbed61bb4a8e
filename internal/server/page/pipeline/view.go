package pipeline

import (
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/marker"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// View builds the page of one pipeline from a snapshot, as who asks may see it, without its charts. Times are shown in
// the zone of now.
func View(snap *dedup.Snapshot, p *dedup.PipelineStatus, judge show.Judge, q web.Range, now time.Time, frame templates.Frame, who web.Reader) templates.PipelineView {
	path := frame.Base + "/pipelines/" + url.PathEscape(p.Pipeline.Name)
	v := templates.PipelineView{
		LivePage: show.LivePage(frame, q.Address(path), snap, now), Name: show.LongName(p.Pipeline.Name), Range: web.RangeView(q, path, now),
	}
	j := show.Judged{PipelineStatus: p, Verdict: show.VerdictOf(p, judge, v.Late)}
	v.Tier, v.Possible = j.Verdict.Tier.String(), show.Possible(j.Verdict.Tier, j.Verdict.Possible)
	v.Why = show.Statement(show.Why(j, now))
	v.RaisedHref, v.RaisedLink = show.RaisedBy(j, frame.Base)
	v.More, v.MoreHref = show.MoreFindings(j), "#findings"
	v.Risk, v.RiskDriver = j.Verdict.Risk.String(), j.Verdict.RiskDriver
	v.Cause = show.CauseText(snap, j, v.Late, now)
	v.Parts = parts(j, path, now)
	v.How, v.WhyDuplicates = howView(snap, j, now), whyDuplicates(j, path, now)
	for _, g := range show.LostSources(p.Down) {
		v.Down = append(v.Down, show.Problem(dedup.Severe, show.WholeSentence(g.Names()+" cannot be read: "+show.Within(g.Err)),
			g.Silence(now)))
	}
	for _, f := range p.Findings {
		view := findingView(f)
		if list := listOfFinding(f.Kind); list != "" && p.Pipeline.Store != "" {
			view.Href, view.Link = path+"/markers?state="+list, "See these markers"
		}
		if f.Kind == "double_effects" {
			view.Href, view.Link = path+"/effects", "See these keys"
		}
		if f.Tier > dedup.Normal {
			v.Findings = append(v.Findings, view)
		} else {
			v.Hints = append(v.Hints, view)
		}
	}
	windowTable(&v, p, now)
	v.Track = track(snap, p, q, now)
	markerViews(&v, snap, p, who, now)
	deadLetterViews(&v, p, now)
	v.Sources = sourceRows(snap, p, now)
	v.Identity, v.Limits = identity(p), limitFacts(p.Pipeline.Limits)
	return v
}

// findingView is a finding as it is shown: what is wrong, what was seen of it, and what to do.
func findingView(f dedup.Finding) templates.Problem {
	p := templates.Problem{Tier: f.Tier.String(), Text: show.Statement(f.Text), Remedy: show.Statement(f.Remedy)}
	if f.Evidence != "" {
		p.Evidence = templates.Sentence(show.EndSentence(f.Evidence)) // it may begin with a key
	}
	return p
}

// parts are the headline figures: the two judged ones with tier and risk, then what stands now.
func parts(p show.Judged, path string, now time.Time) []templates.JudgedPart {
	w := show.Figures(p.PipelineStatus, p.Pipeline.Limits.Window)
	markers := templates.JudgedPart{Label: "Processing markers", Figure: withNote(tileFigure(p.PipelineStatus, show.Processing(p.PipelineStatus), "unknown", now), oldestNote(p.OldestProcessing))}
	if note := show.StuckNote(p.Stuck); note != "" {
		markers.Link, markers.Href = note, path+"/markers?state="+string(marker.ProcessingList)
	}
	backlog := templates.JudgedPart{Label: "Backlog", Figure: withNote(tileFigure(p.PipelineStatus, p.Gauges[dedup.Ready], "unknown", now), unackedNote(p.Gauges[dedup.Unacked]))}
	if ready := p.Gauges[dedup.Ready]; !ready.Known() || ready.Value > 0 {
		backlog.AlsoLabel, backlog.Also = "oldest", waitingFigure(p.PipelineStatus, now)
	}
	dead := templates.JudgedPart{Label: "Dead letters", Figure: tileFigure(p.PipelineStatus, p.DeadLetters, "unknown", now)}
	if len(p.DeadLetterQueues) > 0 {
		dead.More, dead.MoreHref = "Open them", path+"/dead-letters"
	}
	if p.DeadLetters.IsInterval() {
		dead.Figure = withNote(dead.Figure, "of a shared queue")
	}
	rate := show.JudgedRate(p, w, tileFigure(p.PipelineStatus, show.ShownRate(p, w), show.RateWord(p.PipelineStatus), now), path)
	latency := show.JudgedLatency(p, w, tileFigure(p.PipelineStatus, show.ShownLatency(p, w), "unknown", now), path)
	all := []templates.JudgedPart{
		{Label: "Duplicate rate", Figure: rate, Tier: p.Verdict.DuplicateTier.String(), Risk: p.Verdict.DuplicateRisk.String()},
		{Label: "Mean ack latency", Figure: latency, Tier: p.Verdict.LatencyTier.String(), Risk: p.Verdict.LatencyRisk.String()},
		dead,
		markers,
		backlog,
		{Label: "Consumers", Figure: withNote(tileFigure(p.PipelineStatus, p.Gauges[dedup.Consumers], "unknown", now), activityNote(p.LastActivity, now))},
	}
	for _, g := range dedup.OtherGauges() {
		all = append(all, templates.JudgedPart{Label: g.Label, Figure: tileFigure(p.PipelineStatus, p.Gauges[g.Name], "unknown", now)})
	}
	return all
}

// tileFigure is figureView of a figure of a pipeline for a tile: that a source is down is said at length once on a page.
func tileFigure(p *dedup.PipelineStatus, f dedup.Figure, word string, now time.Time) templates.Figure {
	f = show.Blameless(f)
	v := show.Figure(f, word, now)
	if !f.Known() && show.Bounds(f) == "" {
		v.Note = templates.Sentence(show.Brief(show.ShortWhy(p, f.Why))).Short
	}
	return v
}

func withNote(f templates.Figure, note string) templates.Figure {
	if f.Known && note != "" {
		f.Note = note
	}
	return f
}

func oldestNote(f dedup.Figure) string {
	if !f.Known() || f.High <= 0 {
		return ""
	}
	return "oldest " + ageText(f)
}

// waitingFigure is the age of the oldest waiting message, in the words that ages have everywhere.
func waitingFigure(p *dedup.PipelineStatus, now time.Time) templates.Figure {
	v := show.PipelineFigure(p, p.OldestWaiting, "unknown", now)
	if p.OldestWaiting.Known() {
		v.Text = ageText(p.OldestWaiting)
	}
	return v
}

// ageText is a known age in the words that ages have everywhere.
func ageText(f dedup.Figure) string {
	least := ""
	if f.AtLeast {
		least = "≥ "
	}
	return least + templates.Span(time.Duration(f.Value*float64(time.Second)))
}

// listOfFinding is the list of markers that a finding is about; empty where there is none.
func listOfFinding(kind string) string {
	switch kind {
	case "marker_without_expiry":
		return string(marker.PermanentList)
	case "messages_given_up":
		return string(marker.GaveUpList)
	case "failed_and_acked":
		return string(marker.FailedList)
	case "stuck_markers", "looping", "head_blocked":
		return string(marker.ProcessingList)
	case "markers_undecodable":
		return string(dedup.StateUnknown)
	default:
		return ""
	}
}

func unackedNote(f dedup.Figure) string {
	if !f.Known() {
		return ""
	}
	return templates.Number(f.Value) + " unacked"
}

func activityNote(at, now time.Time) string {
	if at.IsZero() {
		return "no ack seen yet"
	}
	return "last ack " + show.Ago(at, now)
}

func identity(p *dedup.PipelineStatus) []templates.Fact {
	c := p.Pipeline
	list := []templates.Fact{
		{Label: "Broker", Value: c.Broker}, {Label: "Virtual host", Value: c.Vhost}, {Label: "Queues", Value: strings.Join(c.Queues, ", ")},
		{Label: "Store", Value: c.Store}, {Label: "Lock", Value: c.Lock}, {Label: "Id from", Value: c.IDFrom}, {Label: "Reported counters", Value: c.ReportedStore},
		{Label: "Labels", Value: strings.Join(show.SortedLabels(c.Labels), ", ")},
	}
	if c.MaxProcessing > 0 {
		list = append(list, templates.Fact{Label: "Longest processing time", Value: templates.Span(c.MaxProcessing)})
	}
	var out []templates.Fact
	for _, f := range list {
		if f.Value != "" {
			out = append(out, templates.Fact{Label: f.Label, Value: templates.Plain(f.Value, 120).Short})
		}
	}
	return out
}

func limitFacts(l dedup.Limits) []templates.Fact {
	return []templates.Fact{
		{Label: "Duplicate rate limits", Value: templates.Percent(l.DuplicateWarning) + " warning, " + templates.Percent(l.DuplicateSevere) + " severe, " + templates.Percent(l.DuplicateEmergency) + " emergency"},
		{Label: "Ack latency limits", Value: templates.Latency(l.LatencyWarning) + " warning, " + templates.Latency(l.LatencySevere) + " severe"},
		{Label: "Judged over", Value: templates.Window(l.Window) + ", at least " + templates.Number(l.MinMessages) + " messages and " + templates.Number(l.MinDuplicates) + " duplicates"},
	}
}
