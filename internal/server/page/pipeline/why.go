package pipeline

import (
	"math"
	"slices"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// whyDuplicates explains the duplicates of the judged window: where they come from, and what is none of them.
func whyDuplicates(p show.Judged, path string, now time.Time) templates.DuplicatesWhy {
	w := show.JudgedWindow(p)
	view := func(f dedup.Figure) templates.Figure { return show.PipelineFigure(p.PipelineStatus, f, "unknown", now) }
	v := templates.DuplicatesWhy{Window: templates.Window(w.Window)}
	origins(&v, p.PipelineStatus, w, view)
	v.Hits = []templates.Neighbour{
		{Label: "Done hits", Meaning: "met a marker that is done: the duplicates", Figure: view(w.Duplicates)},
		{Label: "In-flight hits", Meaning: "met a marker that is processing: no duplicates", Figure: view(w.InFlightHits)},
	}
	for _, n := range []struct {
		label, meaning string
		figure         dedup.Figure
		link           neighbourLink
	}{
		{"Swallowed", "acked without work although the work was not done: lost unless sent again", w.Swallowed, swallowedLink(p.PipelineStatus, path)},
		{"Looping", "the same message again and again, because it cannot proceed", w.Looping, loopingLink(p.PipelineStatus, path)},
		{"Double effects", "the work was done twice: what deduplication exists to prevent", w.DoubleEffects, effectsLink(p.PipelineStatus, path)},
		{"Lost", "left without its work: given up, failed and acked, or dropped", w.Lost, neighbourLink{path + "/markers?state=" + string(marker.GaveUpList), "Messages given up"}},
	} {
		some := n.figure.Known() && n.figure.Low > 0 // an upper bound alone is no alarm
		one := templates.Neighbour{Label: n.label, Meaning: n.meaning, Figure: view(n.figure), Some: some}
		if some && n.link.href != "" && p.Pipeline.Store != "" {
			one.Href, one.Link = n.link.href, n.link.text
		}
		v.Neighbours = append(v.Neighbours, one)
	}
	return v
}

type neighbourLink struct{ href, text string }

// swallowedLink leads to the list of ids, by what swallows here: failed messages that are acked, or those that are given up.
func swallowedLink(p *dedup.PipelineStatus, path string) neighbourLink {
	if hasFinding(p, "messages_given_up") && !hasFinding(p, "failed_and_acked") {
		return neighbourLink{path + "/markers?state=" + string(marker.GaveUpList), "Their ids"}
	}
	return neighbourLink{path + "/markers?state=" + string(marker.FailedList), "Their ids"}
}

func loopingLink(p *dedup.PipelineStatus, path string) neighbourLink {
	text := "Processing markers"
	if note := show.StuckNote(p.Stuck); note != "" {
		text = note
	}
	return neighbourLink{path + "/markers?state=" + string(marker.ProcessingList), text}
}

// effectsLink leads to the page of the double effects, which there is where a check looks for them.
func effectsLink(p *dedup.PipelineStatus, path string) neighbourLink {
	if p.Effects == nil {
		return neighbourLink{}
	}
	return neighbourLink{path + "/effects", "Their business keys"}
}

func hasFinding(p *dedup.PipelineStatus, kind string) bool {
	return slices.ContainsFunc(p.Findings, func(f dedup.Finding) bool { return f.Kind == kind })
}

// origins fills the bar: what is certainly producer-sent, what is certainly redelivered, and between them what may be either.
func origins(v *templates.DuplicatesWhy, p *dedup.PipelineStatus, w *dedup.WindowFigures, view func(dedup.Figure) templates.Figure) {
	d, sent, again := w.Duplicates, show.Blameless(w.ProducerSent), show.Blameless(w.Redelivered)
	v.Origins = []templates.Origin{
		{Label: "Producer-sent", Class: "sent", Figure: view(sent)},
		{Label: "Redelivered", Class: "again", Figure: view(again)},
	}
	switch {
	case !d.Known():
		v.Missing = show.Statement("the duplicates are not known, so that they cannot be split: " + show.ShortWhy(p, show.Blameless(d).Why))
		return
	case d.High <= 0:
		v.Missing = show.Statement("there were no duplicates in this window")
		return
	case !sent.Known() && !again.Known():
		v.Missing = show.Statement("whether they were sent twice or redelivered cannot be told: " + show.ShortWhy(p, sent.Why))
		return
	}
	left, right := certain(sent, d.High), certain(again, d.High)
	if left+right > 1 { // rounding of counts
		left, right = left/(left+right), right/(left+right)
	}
	either := 1 - left - right
	place := func(o *templates.Origin, from, wide float64) { o.Left, o.Wide = percentOf(from), percentOf(wide) }
	place(&v.Origins[0], 0, left)
	place(&v.Origins[1], 1-right, right)
	v.Sentence = shareWords(left) + " producer-sent, " + shareWords(right) + " redelivered"
	if either > 0.005 {
		o := templates.Origin{Label: "Either", Class: "either"}
		place(&o, left, either)
		v.Origins = append(v.Origins, o)
		v.Sentence += ", " + shareWords(either) + " may be either"
	}
	v.Sentence += "."
}

// certain is the share of all duplicates that a part has at least.
func certain(f dedup.Figure, all float64) float64 {
	if !f.Known() || math.IsNaN(f.Low) || math.IsInf(f.Low, 0) {
		return 0
	}
	return math.Max(0, math.Min(1, f.Low/all))
}

func percentOf(share float64) string { return strconv.FormatFloat(share*100, 'f', 2, 64) + "%" }

// shareWords is a share in whole percent; what there is never reads as none.
func shareWords(share float64) string {
	switch n := math.Round(share * 100); {
	case share > 0 && n == 0:
		return "< 1 %"
	case share < 1 && n == 100:
		return "> 99 %"
	default:
		return strconv.Itoa(int(n)) + " %"
	}
}
