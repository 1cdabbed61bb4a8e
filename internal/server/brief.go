package server

import (
	"math"
	"regexp"
	"strings"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// mostWords is how many words stand beside a figure that is not known; the whole reason is one click away.
const mostWords = 8

// bySource is how a reason begins that names its source.
var bySource = regexp.MustCompile(`^by the [a-z ]+: `)

// brief says in a few words why a figure is not known: the first part of the reason that is short enough. That consumers report nothing is
// the reason only where there is no other, for they need not.
func brief(why string) string {
	last := ""
	for part := range strings.SplitSeq(why, "; ") {
		part = bySource.ReplaceAllString(part, "")
		for _, clause := range append([]string{part}, strings.Split(part, ": ")...) {
			clause = strings.TrimRight(strings.TrimSpace(clause), ".")
			switch {
			case clause == "" || len(strings.Fields(clause)) > mostWords:
			case strings.HasPrefix(clause, "consumers report no"):
				last = "consumers report nothing"
			default:
				return clause
			}
		}
	}
	if last == "" && why != "" {
		return "no source can tell yet"
	}
	return last
}

// methodWord is a source of the duplicate rate in a word.
func methodWord(m dedup.Method) string {
	switch m {
	case dedup.MethodLive:
		return "live"
	case dedup.MethodStoreHits:
		return "hits"
	case dedup.MethodStoreEvents:
		return "events"
	case dedup.MethodResidual:
		return "estimated"
	default:
		return strings.ReplaceAll(templates.Plain(string(m), nameLimit).Short, "_", " ")
	}
}

// judgedRate is the duplicate rate as row and tile show it: a number with its band, whence it comes, and a bar where its tier is not certain.
func judgedRate(p judged, w *dedup.WindowFigures, v templates.Figure, path string) templates.Figure {
	f, l := shownRate(p, w), p.Pipeline.Limits
	for _, e := range figuresOf(p.PipelineStatus, f.Window).Estimates {
		if e.Rate.Source == f.Source && (f.Known() || bounds(f) != "") {
			name, counts := methodWords(e.Method)
			v.Origin, v.OriginTitle, v.OriginHref = methodWord(e.Method), name+": "+counts, path+"#how"
		}
	}
	if !f.Known() && bounds(f) == "" {
		return v
	}
	low, high := alerts.DuplicateTier(f.Low, f.N, l), alerts.DuplicateTier(f.High, f.N, l)
	if f.Low < f.High && !f.AtLeast && (low != high || low == dedup.TierUnknown) {
		v.Band = templates.NewBand(f.Low, f.High, []float64{l.DuplicateWarning, l.DuplicateSevere, l.DuplicateEmergency},
			"between "+templates.Percent(f.Low)+" and "+templates.Percent(f.High)+": "+tiersFrom(low, high))
	}
	return v
}

// judgedLatency is the mean ack latency as row and tile show it.
func judgedLatency(p judged, w *dedup.WindowFigures, v templates.Figure, path string) templates.Figure {
	f, l := shownLatency(p, w), p.Pipeline.Limits
	if !f.Known() {
		return v
	}
	v.Origin, v.OriginTitle, v.OriginHref = "estimated", f.Source, path+"#windows-title"
	switch {
	case f.Quality == dedup.Measured:
		v.Origin = "reported"
	case f.Bounded():
		v.Origin = "bound"
	}
	low, high := alerts.LatencyTier(f.Low, l), alerts.LatencyTier(f.High, l)
	if f.Low < f.High && !f.AtLeast && low != high {
		v.Band = templates.NewBand(f.Low, f.High, []float64{l.LatencyWarning, l.LatencySevere},
			"between "+templates.Latency(f.Low)+" and "+templates.Latency(f.High)+": "+tiersFrom(low, high))
	}
	return v
}

// offerMeasure leads from a figure that may be of more than one tier to where its pipeline, whose page is at path, can be measured exactly.
func offerMeasure(path string, figures ...*templates.Figure) {
	for _, f := range figures {
		if f.Band != nil {
			f.Measure = path + "#measure"
		}
	}
}

// tiersFrom says which tiers a band reaches from and to.
func tiersFrom(low, high dedup.Tier) string {
	if low == dedup.TierUnknown {
		return "too few messages for a tier"
	}
	return low.String() + " to " + high.String()
}

// numberOf is the one number that stands for a figure: what is between the ends of an interval where no better one is known.
func numberOf(f dedup.Figure) float64 {
	if f.IsInterval() && !f.InBand() && !f.AtLeast && !f.AtMost() && !math.IsInf(f.High, 0) {
		return (f.Low + f.High) / 2
	}
	return f.Value
}
