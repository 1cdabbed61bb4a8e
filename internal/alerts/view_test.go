package alerts

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// shown is an alert of a view, in a phase at a tier.
func shown(rule string, kind SubjectKind, subject string, phase Phase, tier dedup.Tier) *AlertView {
	key := Key{Rule: rule, Kind: kind, Subject: subject}
	j := Judgement{Key: key, Labels: map[string]string{string(kind): subject, LabelBroker: "main"}, Why: "747 dead letters in 17 m"}
	return &AlertView{Rule: &Rule{Name: rule, Title: "Dead-letter inflow"}, Alert: Alert{Key: key, Last: j, LastOK: j, State: State{Phase: phase, Tier: tier}}}
}

func TestAListBeginsWithSourcesThatCannotBeReadAndPutsWhatRecoversLastOfItsTier(t *testing.T) {
	root := shown("source_unreachable", OfBroker, "main", PhaseFiring, dedup.Warning)
	back := shown("source_unreachable", OfStore, "orders", PhaseRecovering, dedup.Warning)
	again := shown("source_unreachable", OfStore, "payments", PhaseRecovering, dedup.Warning)
	again.Last.Value = 20 // it fell silent again before it was over
	again.State.Since = time.Unix(1, 0)
	over := shown("dead_letter_inflow", OfPipeline, "a", PhaseRecovering, dedup.Emergency)
	worst := shown("dead_letter_inflow", OfPipeline, "b", PhaseFiring, dedup.Emergency)
	severe := shown("dead_letter_inflow", OfPipeline, "c", PhaseFiring, dedup.Severe)
	warning := shown("dead_letter_inflow", OfPipeline, "d", PhaseFiring, dedup.Warning)
	soon := shown("dead_letter_inflow", OfPipeline, "e", PhasePending, dedup.Normal)
	soon.State.Reached[0] = time.Unix(1, 0)
	blind := shown("dead_letter_inflow", OfPipeline, "f", PhaseNormal, dedup.Normal)
	blind.State.Health = HealthError
	dog := shown(RuleWatchdog, OfDashboard, "", PhaseFiring, dedup.Warning)
	calm := shown("dead_letter_inflow", OfPipeline, "g", PhaseNormal, dedup.Normal)
	v := &View{At: time.Unix(2, 0), Alerts: []*AlertView{calm, dog, blind, soon, back, again, warning, severe, over, worst, root}}
	v.summarise()
	for i, want := range []*AlertView{root, again, worst, over, severe, warning, back, soon, blind, dog, calm} {
		if v.Alerts[i] != want {
			t.Errorf("%d. is %s %s, want %s %s", i+1, v.Alerts[i].Key, v.Alerts[i].State.Phase, want.Key, want.State.Phase)
		}
	}
}

func TestWhatFiresRaisesTheTierOfItsPipeline(t *testing.T) {
	status := func(findings ...dedup.Finding) *dedup.PipelineStatus {
		return &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "refunds", Limits: dedup.DefaultLimits()}, Findings: findings}
	}
	severe := dedup.Finding{Tier: dedup.Severe, Text: "messages wait"}
	stale := shown("dead_letter_inflow", OfPipeline, "refunds", PhaseFiring, dedup.Emergency)
	stale.State.Health, stale.Last.Why = HealthError, "broker main cannot be read"
	acked := shown("dead_letter_inflow", OfPipeline, "refunds", PhaseFiring, dedup.Emergency)
	acked.Ack, acked.Silences = &Ack{By: "ann"}, []string{"s1"}
	for _, tt := range []struct {
		name  string
		p     *dedup.PipelineStatus
		alert *AlertView
		tier  dedup.Tier
		why   string
	}{
		{"one alone", status(), shown("dead_letter_inflow", OfPipeline, "refunds", PhaseFiring, dedup.Emergency), dedup.Emergency, "Dead-letter inflow: 747 dead letters in 17 m"},
		{"a worse one than the findings", status(severe), shown("dead_letter_inflow", OfPipeline, "refunds", PhaseFiring, dedup.Emergency), dedup.Emergency, "Dead-letter inflow: 747 dead letters in 17 m; messages wait"},
		{"findings that are as bad stay the reason", status(severe), shown("dead_letter_inflow", OfPipeline, "refunds", PhaseFiring, dedup.Severe), dedup.Severe, "messages wait"},
		{"one that recovers", status(severe), shown("dead_letter_inflow", OfPipeline, "refunds", PhaseRecovering, dedup.Emergency), dedup.Severe, "messages wait"},
		{"one that is pending", status(severe), shown("dead_letter_inflow", OfPipeline, "refunds", PhasePending, dedup.Emergency), dedup.Severe, "messages wait"},
		{"one of another pipeline", status(severe), shown("dead_letter_inflow", OfPipeline, "orders", PhaseFiring, dedup.Emergency), dedup.Severe, "messages wait"},
		{"one of a broker of the same name", status(severe), shown("dead_letter_inflow", OfBroker, "refunds", PhaseFiring, dedup.Emergency), dedup.Severe, "messages wait"},
		{"one that cannot be judged any more", status(), stale, dedup.Emergency, "Dead-letter inflow, as it was last judged: 747 dead letters in 17 m"},
		{"one that somebody attends to", status(), acked, dedup.Emergency, "Dead-letter inflow: 747 dead letters in 17 m"},
	} {
		v := &View{Alerts: []*AlertView{shown("backlog", OfPipeline, "refunds", PhaseFiring, dedup.Warning), tt.alert}}
		got := JudgeWith(tt.p, v.FiringOfPipelines()["refunds"])
		if got.Tier != tt.tier || got.Why != tt.why || got.Possible < got.Tier {
			t.Errorf("%s: %s, possibly %s, because %q", tt.name, got.Tier, got.Possible, got.Why)
		}
		if raised := got.Alert != nil; raised != (tt.tier == dedup.Emergency) {
			t.Errorf("%s: raised by %v", tt.name, got.Alert)
		}
	}
}

func TestAnAlertRestsOnTheSourceThatItsReasonNames(t *testing.T) {
	root := shown("source_unreachable", OfBroker, "main", PhaseFiring, dedup.Warning)
	blind := shown("dead_letters", OfPipeline, "orders", PhaseFiring, dedup.Warning)
	blind.State.Health, blind.Last.Why = HealthError, downSentence([]dedup.SourceHealth{{Name: "broker main", Tried: true, Err: "connection refused"}})
	if !blind.RestsOn(root) || root.RestsOn(root) {
		t.Error("it does not rest on its broker, or the broker rests on itself")
	}
	blind.Last.Why = downSentence([]dedup.SourceHealth{{Name: "store orders", Tried: true, Err: "connection refused"}})
	if blind.RestsOn(root) {
		t.Error("what cannot be told because of its store is laid to the broker")
	}
}
