package alerts

import (
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// TestAWarningNeverStandsAboveAnEmergency: a source that could not be read stood first, at whatever tier.
func TestAWarningNeverStandsAboveAnEmergency(t *testing.T) {
	one := func(name string, phase Phase, tier dedup.Tier) *AlertView {
		a := &AlertView{}
		a.Key, a.State.Phase, a.State.Tier, a.State.Health = rule.Key{Rule: name}, phase, tier, rule.HealthOK
		a.Last.Value = 1
		return a
	}
	v := View{At: time.Unix(1, 0), Alerts: []*AlertView{
		one(RuleUnreachable, PhaseFiring, dedup.Warning), one("a", PhaseRecovering, dedup.Severe), one("b", PhaseFiring, dedup.Severe),
		one(RuleUnreachable, PhaseFiring, dedup.Severe), one("c", PhaseFiring, dedup.Emergency), one("d", PhaseFiring, dedup.Warning),
	}}
	v.summarise()
	var got []string
	for _, a := range v.Alerts {
		got = append(got, a.State.Tier.String()+" "+a.Key.Rule)
	}
	want := []string{"emergency c", "severe " + RuleUnreachable, "severe b", "severe a", "warning " + RuleUnreachable, "warning d"}
	if !slices.Equal(got, want) {
		t.Errorf("they stand as %q, want %q", got, want)
	}
}
