package rule

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// A Verdict is what one pipeline's figures amount to now: the tier and, on its own scale, the risk.
type Verdict struct {
	// Tier is the worst tier of the judged figures and of the findings; Possible is the tier of the high end of an interval, or of the
	// higher of two disputed rates, equal to Tier when there is no doubt. Why is one sentence with value against limit, or why nothing
	// can be told. More counts the findings above normal that Why does not tell of.
	Tier     dedup.Tier
	Possible dedup.Tier
	Why      string
	More     int
	// Risk is the worst risk and RiskDriver the measure that drove it: "duplicate rate" or "ack latency".
	Risk       dedup.Risk
	RiskDriver string

	DuplicateTier dedup.Tier
	LatencyTier   dedup.Tier
	DuplicateRisk dedup.Risk
	LatencyRisk   dedup.Risk
	// Judged is the duplicate rate that was judged, JudgedLatency the ack latency. Judged is unknown, with its bounds, where
	// only the low end of an interval that is too wide to be shown was judged.
	Judged        dedup.Figure
	JudgedLatency dedup.Figure
}

// Sentence is Why, with how many findings more there are.
func (v Verdict) Sentence() string {
	if v.More == 0 {
		return v.Why
	}
	return fmt.Sprintf("%s; +%d more", v.Why, v.More)
}

// Judge returns the verdict on a pipeline: the worst tier of its duplicate rate, its ack latency and its findings, and the
// risk of the two figures. What is only estimated, or too wide to be shown as a rate, is judged as far as its ends decide. What cannot be
// told is unknown, never normal: so a pipeline with a source that is down is at best unknown, whatever its other sources show, and keeps
// any worse tier.
func Judge(p *dedup.PipelineStatus) Verdict {
	limits := p.Pipeline.Limits
	dup := judgeDuplicates(p.Windows, limits)
	lat := judgeLatency(p.Windows, limits)
	v := Verdict{
		DuplicateTier: dup.tier, DuplicateRisk: dup.risk, Judged: dup.figure,
		LatencyTier: lat.tier, LatencyRisk: lat.risk, JudgedLatency: lat.figure,
	}
	v.Tier, v.Possible, v.Why = dup.tier, dup.possible, dup.why
	// Latency alone can raise the tier, and never vouches for a duplicate rate that is not known: a normal latency
	// beside an unknown rate leaves the pipeline unknown.
	if lat.tier > dup.tier && lat.tier > dedup.Normal {
		v.Tier, v.Possible, v.Why = lat.tier, max(lat.possible, dup.possible), lat.why
	}
	v.withFindings(p.Findings)
	if len(p.Down) > 0 && v.Tier <= dedup.Normal {
		v.Tier, v.Why = dedup.TierUnknown, downSentence(p.Down)
		if v.Possible <= dedup.Normal {
			v.Possible = dedup.TierUnknown
		}
	} else if len(p.Down) > 0 {
		v.Why += "; " + downSentence(p.Down)
	}
	v.Risk, v.RiskDriver = worstRisk(dup.risk, lat.risk)
	return v
}

// withFindings raises the verdict to the worst finding, and counts how many more there are. Each was seen in a source that is
// up. Of what is equally bad lost messages are told first, whatever the duplicate rate.
func (v *Verdict) withFindings(findings []dedup.Finding) {
	worst, n := worstFinding(findings)
	if n == 0 {
		return
	}
	if lost := worst.Tier == v.Tier && worst.Harm() == dedup.HarmLost; worst.Tier > v.Tier || lost {
		v.Tier, v.Possible, v.Why = worst.Tier, max(worst.Tier, v.Possible), worst.Text
		n--
	}
	v.More = n
}

// worstRisk returns the worse of the two and the measure that drove it. Like the tier, a low latency does not vouch for a
// duplicate rate that is not known.
func worstRisk(duplicates, latency dedup.Risk) (dedup.Risk, string) {
	switch {
	case duplicates == dedup.RiskUnknown && latency <= dedup.RiskLow:
		return dedup.RiskUnknown, ""
	case latency > duplicates:
		return latency, "ack latency"
	default:
		return duplicates, "duplicate rate"
	}
}
