package overview

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// pipelineRow is one line of the overview.
func pipelineRow(snap *dedup.Snapshot, p show.Judged, base string, now time.Time) templates.PipelineRow {
	w := show.Figures(p.PipelineStatus, p.Pipeline.Limits.Window)
	row := templates.PipelineRow{
		Name:        show.Name(p.Pipeline.Name),
		Href:        base + "/pipelines/" + url.PathEscape(p.Pipeline.Name),
		Queues:      show.Name(strings.Join(p.Pipeline.Queues, ", ")),
		Tier:        p.Verdict.Tier.String(),
		Possible:    show.Possible(p.Verdict.Tier, p.Verdict.Possible),
		Risk:        p.Verdict.Risk.String(),
		RiskDriver:  p.Verdict.RiskDriver,
		Duplicates:  show.PipelineFigure(p.PipelineStatus, show.ShownRate(p, w), show.RateWord(p.PipelineStatus), now),
		Spark:       sparkOf(p.PipelineStatus, now),
		Latency:     show.PipelineFigure(p.PipelineStatus, show.ShownLatency(p, w), "unknown", now),
		DeadLetters: show.PipelineFigure(p.PipelineStatus, p.DeadLetters, "unknown", now),
		Processing:  show.PipelineFigure(p.PipelineStatus, show.Processing(p.PipelineStatus), "unknown", now),
		NoExpiry:    show.Figure(p.MarkersNoExpiry, "unknown", now),
		Markers:     web.MarkersAddress(base, url.PathEscape(p.Pipeline.Name)),
		Stuck:       strings.TrimSuffix(show.StuckNote(p.Stuck), " stuck"),
		Ready:       show.PipelineFigure(p.PipelineStatus, p.Gauges[dedup.Ready], "unknown", now),
		Unacked:     show.Figure(p.Gauges[dedup.Unacked], "unknown", now),
		Consumers:   show.PipelineFigure(p.PipelineStatus, p.Gauges[dedup.Consumers], "unknown", now),
		Activity:    show.Since(p.LastActivity, now),
		Stale:       len(p.Down) > 0,
	}
	if p.Verdict.Tier != dedup.Normal {
		row.Why = show.Statement(show.Why(p, now))
		row.RaisedHref, row.RaisedLink = show.RaisedBy(p, base)
		row.More, row.MoreHref = show.MoreFindings(p), row.Href+"#findings"
	}
	row.Cause = show.CauseText(snap, p, show.Late(snap, now), now)
	if !row.Duplicates.Known && w.Redeliveries.Known() {
		row.Redeliveries = templates.Percent(w.Redeliveries.Value) + " redelivered"
	}
	if w.AckP95.Known() {
		row.LatencyP95 = "p95 " + show.FigureText(w.AckP95)
	}
	row.Duplicates, row.Latency = show.JudgedRate(p, w, row.Duplicates, row.Href), show.JudgedLatency(p, w, row.Latency, row.Href)
	if f := show.ShownLatency(p, w); f.Known() {
		row.Latency.Note = show.RoughWindow(f) // the tile has the rest
	}
	row.Duplicates.Note = "" // where the rate is not known, the reason stands beside the name
	if f := show.ShownRate(p, w); f.Known() || show.Bounds(f) != "" {
		row.Duplicates.Note = show.RoughWindow(f)
	}
	for _, f := range []*templates.Figure{&row.DeadLetters, &row.Processing, &row.Ready, &row.Consumers} {
		f.Note = "" // the pipeline's page has it
	}
	if p.DeadLetters.IsInterval() {
		row.DeadLetters.Note = "of a shared queue"
	}
	return row
}

func sparkOf(p *dedup.PipelineStatus, now time.Time) templates.Spark {
	s := templates.Spark{
		From: now.Add(-time.Hour), To: now, Step: 2 * time.Minute,
		Points: show.Points(p.Spark, now.Location()), Limit: p.Pipeline.Limits.DuplicateWarning, Stale: len(p.Down) > 0,
	}
	s.Points = slices.DeleteFunc(s.Points, func(q templates.Point) bool { return q.At.Before(s.From) || q.At.After(s.To) })
	s.Label = "Duplicate rate in the last hour: " + trend(s.Points)
	return s
}

// trend says a line in words.
func trend(points []templates.Point) string {
	if len(points) == 0 {
		return "no values"
	}
	highest := math.Inf(-1)
	for _, p := range points {
		highest = math.Max(highest, p.Value)
	}
	last, before := points[len(points)-1].Value, points[max(0, len(points)-11)].Value
	direction := "steady"
	switch {
	case last > before*1.1+0.0005:
		direction = "rising"
	case last < before*0.9-0.0005:
		direction = "falling"
	}
	return "last " + templates.Percent(last) + ", highest " + templates.Percent(highest) + ", " + direction
}
