package show

import (
	"strings"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// methodWord is a source of the duplicate rate in a word, which is none of those of a quality: that stands beside it.
func methodWord(m dedup.Method) string {
	switch m {
	case dedup.MethodLive:
		return "live"
	case dedup.MethodStoreHits:
		return "hits"
	case dedup.MethodStoreEvents:
		return "events"
	default:
		return strings.ReplaceAll(ShortName(string(m)), "_", " ")
	}
}

// JudgedRate is the duplicate rate as row and tile show it: a number with its band, whence it comes, and a bar where its tier is not certain.
func JudgedRate(p Judged, w *dedup.WindowFigures, v templates.Figure, path string) templates.Figure {
	f, l := ShownRate(p, w), p.Pipeline.Limits
	for _, e := range Figures(p.PipelineStatus, f.Window).Estimates {
		if e.Rate.Source == f.Source && (f.Known() || Bounds(f) != "") {
			name, counts := MethodWords(e.Method)
			v.Origin, v.OriginTitle, v.OriginHref = methodWord(e.Method), name+": "+counts, path+"#how"
		}
	}
	if !f.Known() && Bounds(f) == "" {
		return v
	}
	low, high := rule.DuplicateTier(f.Low, f.N, l), rule.DuplicateTier(f.High, f.N, l)
	if f.Low < f.High && !f.AtLeast && (low != high || low == dedup.TierUnknown) {
		v.Band = templates.NewBand(f.Low, f.High, []float64{l.DuplicateWarning, l.DuplicateSevere, l.DuplicateEmergency},
			"between "+templates.Percent(f.Low)+" and "+templates.Percent(f.High)+": "+TiersFrom(low, high))
	}
	return v
}

// JudgedLatency is the mean ack latency as row and tile show it.
func JudgedLatency(p Judged, w *dedup.WindowFigures, v templates.Figure, path string) templates.Figure {
	f, l := ShownLatency(p, w), p.Pipeline.Limits
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
	low, high := rule.LatencyTier(f.Low, l), rule.LatencyTier(f.High, l)
	if f.Low < f.High && !f.AtLeast && low != high {
		v.Band = templates.NewBand(f.Low, f.High, []float64{l.LatencyWarning, l.LatencySevere},
			"between "+templates.Latency(f.Low)+" and "+templates.Latency(f.High)+": "+TiersFrom(low, high))
	}
	return v
}

// OfferMeasure leads from a figure that may be of more than one tier to where its pipeline, whose page is at path, can be measured exactly.
func OfferMeasure(path string, figures ...*templates.Figure) {
	for _, f := range figures {
		if f.Band != nil {
			f.Measure = path + "#measure"
		}
	}
}

// TiersFrom says which tiers a band reaches from and to.
func TiersFrom(low, high dedup.Tier) string {
	if low == dedup.TierUnknown {
		return "too few messages for a tier"
	}
	return low.String() + " to " + high.String()
}
