package show

import (
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// Why says what made the tier; for a pipeline whose sources are down, which and since when. The error itself stands once
// on the page: on the card of the source, or above the tiles of its pipeline. Where no card has it, it stands here.
func Why(p Judged, now time.Time) string {
	if p.Verdict.Tier == dedup.TierUnknown && len(p.Down) == 0 {
		return unknownTier(p)
	}
	if p.Verdict.Tier != dedup.TierUnknown {
		return sourcesDown(p, now)
	}
	g := LostSources(p.Down)[0]
	if slices.ContainsFunc(g.Sources, func(h dedup.SourceHealth) bool { return h.Kind == "broker" || h.Kind == "store" }) {
		return g.Down(now)
	}
	return g.Names() + " cannot be read: " + Within(g.Err)
}

// unknownTier says in a few words why nothing can be told: all that sources refuse stands where the figure opens to it.
func unknownTier(p Judged) string {
	const unknown = "duplicate rate unknown: "
	why, isRate := strings.CutPrefix(p.Verdict.Why, unknown)
	f := p.Verdict.Judged
	switch {
	case !isRate:
		return p.Verdict.Why
	case Bounds(f) != "":
		l := p.Pipeline.Limits
		return "duplicate rate " + templates.PercentRange(f.Low, f.High) + ": " + TiersFrom(rule.DuplicateTier(f.Low, f.N, l), rule.DuplicateTier(f.High, f.N, l))
	}
	return unknown + Brief(why)
}

// MoreFindings says how many findings there are beyond those that the reason of the tier tells of; empty where there is none.
func MoreFindings(p Judged) string {
	if p.Verdict.More == 0 {
		return ""
	}
	return "+" + Counted(p.Verdict.More, "more finding")
}

// sourcesDown is why a pipeline has its tier, after which broker and stores are down: what else is wrong is mostly of that. Their errors
// stand once on the page, and are left out here.
func sourcesDown(p Judged, now time.Time) string {
	why := p.Verdict.Why
	var parts []string
	for _, h := range p.Down {
		if (h.Kind != "store" && h.Kind != "broker") || !IsLost(h) {
			continue
		}
		words := Within(h.Name) + " down"
		if at := LostSince(h); !at.IsZero() {
			words += " since " + Moment(at, now).Text
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

// ShownRate is the duplicate rate that was judged, else the one of the configured window.
func ShownRate(p Judged, w *dedup.WindowFigures) dedup.Figure {
	if f := p.Verdict.Judged; f.Known() || f.Window > 0 && Bounds(f) != "" {
		return f
	}
	return w.DuplicateRate
}

// RateWord tells a rate that nobody can know from these sources from one that is missing because a source is down.
func RateWord(p *dedup.PipelineStatus) string {
	if len(p.Down) > 0 {
		return "unknown"
	}
	return "cannot tell"
}

// Possible is the tier that may be worse; empty where it is the same, or nothing is known.
func Possible(tier, possible dedup.Tier) string {
	if possible == tier || possible == dedup.TierUnknown || tier == dedup.TierUnknown {
		return ""
	}
	return possible.String()
}

// ShownLatency is the mean ack latency that was judged, which may be that of a longer window, else the one of the configured window.
func ShownLatency(p Judged, w *dedup.WindowFigures) dedup.Figure {
	if p.Verdict.JudgedLatency.Known() {
		return p.Verdict.JudgedLatency
	}
	return w.AckMean
}

// Processing counts the processing markers of a pipeline.
func Processing(p *dedup.PipelineStatus) dedup.Figure {
	if f, ok := p.Markers[dedup.Processing]; ok {
		return Blameless(f)
	}
	if p.Pipeline.Store == "" {
		return dedup.Unknown(dedup.Count, "no store is configured")
	}
	if len(p.Markers) > 0 {
		return dedup.Unknown(dedup.Count, "this scheme has no processing state")
	}
	return dedup.Unknown(dedup.Count, "no complete pass over the store yet")
}

// StuckNote says how many markers are stuck, and nothing while that is not known or none is.
func StuckNote(f dedup.Figure) string {
	if !f.Known() || f.Value <= 0 {
		return ""
	}
	return FigureText(f) + " stuck"
}

// Judge returns the verdict on a pipeline.
type Judge func(*dedup.PipelineStatus) alerts.Verdict

// VerdictOf is the verdict on a pipeline; while rounds are late nothing can be told.
func VerdictOf(p *dedup.PipelineStatus, judge Judge, late string) alerts.Verdict {
	if late != "" {
		return alerts.Verdict{Verdict: rule.Verdict{Why: late}}
	}
	return judge(p)
}

// CauseText is the likely cause in words, in the zone of now; empty when there is nothing to explain.
func CauseText(snap *dedup.Snapshot, p Judged, late string, now time.Time) templates.Text {
	c, ok := LikelyCause(snap, p, late)
	if !ok || c.Kind == cause.Outage && slices.ContainsFunc(p.Down, IsLost) { // which the reason of the tier begins with
		return templates.Text{}
	}
	return templates.Sentence(c.Sentence(now.Location()))
}

// RaisedBy leads to the alert that raised the tier; both are empty where figures and findings alone made it.
func RaisedBy(p Judged, base string) (href, link string) {
	a := p.Verdict.Alert
	if a == nil {
		return "", ""
	}
	return AlertAddress(base, a.Key), "Alert " + ShortName(AlertTitle(a))
}
