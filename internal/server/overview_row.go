package server

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// pipelineRow is one line of the overview.
func pipelineRow(snap *dedup.Snapshot, p show.Judged, base string, now time.Time) templates.PipelineRow {
	w := show.Figures(p.PipelineStatus, p.Pipeline.Limits.Window)
	row := templates.PipelineRow{
		Name:        templates.Plain(p.Pipeline.Name, show.NameLimit),
		Href:        base + "/pipelines/" + url.PathEscape(p.Pipeline.Name),
		Queues:      templates.Plain(strings.Join(p.Pipeline.Queues, ", "), show.NameLimit),
		Tier:        p.Verdict.Tier.String(),
		Possible:    possible(p.Verdict.Tier, p.Verdict.Possible),
		Risk:        p.Verdict.Risk.String(),
		RiskDriver:  p.Verdict.RiskDriver,
		Duplicates:  show.PipelineFigure(p.PipelineStatus, shownRate(p, w), rateWord(p.PipelineStatus), now),
		Spark:       sparkOf(p.PipelineStatus, now),
		Latency:     show.PipelineFigure(p.PipelineStatus, shownLatency(p, w), "unknown", now),
		DeadLetters: show.PipelineFigure(p.PipelineStatus, p.DeadLetters, "unknown", now),
		Processing:  show.PipelineFigure(p.PipelineStatus, processing(p.PipelineStatus), "unknown", now),
		NoExpiry:    show.Figure(p.MarkersNoExpiry, "unknown", now),
		Markers:     web.MarkersAddress(base, url.PathEscape(p.Pipeline.Name)),
		Stuck:       strings.TrimSuffix(stuckNote(p.Stuck), " stuck"),
		Ready:       show.PipelineFigure(p.PipelineStatus, p.Ready, "unknown", now),
		Unacked:     show.Figure(p.Unacked, "unknown", now),
		Consumers:   show.PipelineFigure(p.PipelineStatus, p.Consumers, "unknown", now),
		Activity:    show.Since(p.LastActivity, now),
		Stale:       len(p.Down) > 0,
	}
	if p.Verdict.Tier != dedup.Normal {
		row.Why = show.Statement(why(p, now))
		row.RaisedHref, row.RaisedLink = raisedBy(p, base)
		row.More, row.MoreHref = moreFindings(p), row.Href+"#findings"
	}
	row.Cause = causeText(snap, p, show.Late(snap, now), now)
	if !row.Duplicates.Known && w.Redeliveries.Known() {
		row.Redeliveries = templates.Percent(w.Redeliveries.Value) + " redelivered"
	}
	if w.AckP95.Known() {
		row.LatencyP95 = "p95 " + show.FigureText(w.AckP95)
	}
	row.Duplicates, row.Latency = judgedRate(p, w, row.Duplicates, row.Href), judgedLatency(p, w, row.Latency, row.Href)
	if f := shownLatency(p, w); f.Known() {
		row.Latency.Note = show.RoughWindow(f) // the tile has the rest
	}
	row.Duplicates.Note = "" // where the rate is not known, the reason stands beside the name
	if f := shownRate(p, w); f.Known() || show.Bounds(f) != "" {
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

// why says what made the tier; for a pipeline whose sources are down, which and since when. The error itself stands once
// on the page: on the card of the source, or above the tiles of its pipeline. Where no card has it, it stands here.
func why(p show.Judged, now time.Time) string {
	if p.Verdict.Tier == dedup.TierUnknown && len(p.Down) == 0 {
		return unknownTier(p)
	}
	if p.Verdict.Tier != dedup.TierUnknown {
		return sourcesDown(p, now)
	}
	g := show.LostSources(p.Down)[0]
	if slices.ContainsFunc(g.Sources, func(h dedup.SourceHealth) bool { return h.Kind == "broker" || h.Kind == "store" }) {
		return g.Down(now)
	}
	return g.Names() + " cannot be read: " + show.Within(g.Err)
}

// unknownTier says in a few words why nothing can be told: all that sources refuse stands where the figure opens to it.
func unknownTier(p show.Judged) string {
	const unknown = "duplicate rate unknown: "
	why, isRate := strings.CutPrefix(p.Verdict.Why, unknown)
	f := p.Verdict.Judged
	switch {
	case !isRate:
		return p.Verdict.Why
	case show.Bounds(f) != "":
		l := p.Pipeline.Limits
		return "duplicate rate " + templates.PercentRange(f.Low, f.High) + ": " + tiersFrom(rule.DuplicateTier(f.Low, f.N, l), rule.DuplicateTier(f.High, f.N, l))
	}
	return unknown + show.Brief(why)
}

// moreFindings says how many findings there are beyond those that the reason of the tier tells of; empty where there is none.
func moreFindings(p show.Judged) string {
	if p.Verdict.More == 0 {
		return ""
	}
	return "+" + show.Counted(p.Verdict.More, "more finding")
}

// raisedBy leads to the alert that raised the tier; both are empty where figures and findings alone made it.
func raisedBy(p show.Judged, base string) (href, link string) {
	a := p.Verdict.Alert
	if a == nil {
		return "", ""
	}
	return alert.Address(base, a.Key), "Alert " + templates.Plain(alert.TitleOf(a), show.NameLimit).Short
}

// sourcesDown is why a pipeline has its tier, after which broker and stores are down: what else is wrong is mostly of that. Their errors
// stand once on the page, and are left out here.
func sourcesDown(p show.Judged, now time.Time) string {
	why := p.Verdict.Why
	var parts []string
	for _, h := range p.Down {
		if (h.Kind != "store" && h.Kind != "broker") || !show.IsLost(h) {
			continue
		}
		words := show.Within(h.Name) + " down"
		if at := show.LostSince(h); !at.IsZero() {
			words += " since " + show.Moment(at, now).Text
		}
		parts = append(parts, words)
		for _, said := range []string{h.Name + " cannot be read: " + h.Err, ": " + h.Err} {
			if h.Err != "" {
				why = strings.ReplaceAll(strings.ReplaceAll(why, "; "+said, ""), said, "")
			}
		}
	}
	if why = strings.TrimPrefix(why, "; "); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(parts, "; ")
}

// shownRate is the duplicate rate that was judged, else the one of the configured window.
func shownRate(p show.Judged, w *dedup.WindowFigures) dedup.Figure {
	if f := p.Verdict.Judged; f.Known() || f.Window > 0 && show.Bounds(f) != "" {
		return f
	}
	return w.DuplicateRate
}

// rateWord tells a rate that nobody can know from these sources from one that is missing because a source is down.
func rateWord(p *dedup.PipelineStatus) string {
	if len(p.Down) > 0 {
		return "unknown"
	}
	return "cannot tell"
}

func possible(tier, possible dedup.Tier) string {
	if possible == tier || possible == dedup.TierUnknown || tier == dedup.TierUnknown {
		return ""
	}
	return possible.String()
}

// shownLatency is the mean ack latency that was judged, which may be that of a longer window, else the one of the configured window.
func shownLatency(p show.Judged, w *dedup.WindowFigures) dedup.Figure {
	if p.Verdict.JudgedLatency.Known() {
		return p.Verdict.JudgedLatency
	}
	return w.AckMean
}

func processing(p *dedup.PipelineStatus) dedup.Figure {
	if f, ok := p.Markers[dedup.Processing]; ok {
		return show.Blameless(f)
	}
	if p.Pipeline.Store == "" {
		return dedup.Unknown(dedup.Count, "no store is configured")
	}
	if len(p.Markers) > 0 {
		return dedup.Unknown(dedup.Count, "this scheme has no processing state")
	}
	return dedup.Unknown(dedup.Count, "no complete pass over the store yet")
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
