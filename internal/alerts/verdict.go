package alerts

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// A Verdict is what one pipeline's figures amount to now: the tier and, on its own scale, the risk.
type Verdict struct {
	// Tier is the worst tier of the judged figures, of the findings, and of the alert that raised it; Possible is the tier of the high end of an interval, or of the
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
	// Cause is the likely cause that an alert about duplicates or loops gives; see View.CausesOfPipelines. Empty where none does.
	Cause Cause
	// Alert is the firing alert that raised the tier above that of figures and findings; nil where none did.
	Alert *AlertView
}

// Sentence is Why, with how many findings more there are.
func (v Verdict) Sentence() string {
	if v.More == 0 {
		return v.Why
	}
	return fmt.Sprintf("%s; +%d more", v.Why, v.More)
}
