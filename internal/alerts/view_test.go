package alerts

import (
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// shown is an alert of a view, in a phase at a tier.
func shown(name string, kind rule.SubjectKind, subject string, phase Phase, tier dedup.Tier) *AlertView {
	key := rule.Key{Rule: name, Kind: kind, Subject: subject}
	j := rule.Judgement{Key: key, Labels: map[string]string{string(kind): subject, rule.LabelBroker: "main"}, Why: "747 dead letters in 17 m"}
	return &AlertView{Rule: &rule.Rule{Name: name, Title: "Dead-letter inflow"}, Alert: Alert{Key: key, Last: j, LastOK: j, State: State{Phase: phase, Tier: tier}}}
}

func TestAListBeginsWithTheWorstTierAndInItWithSourcesThatCannotBeRead(t *testing.T) {
	root := shown("source_unreachable", rule.OfBroker, "main", PhaseFiring, dedup.Warning)
	back := shown("source_unreachable", rule.OfStore, "orders", PhaseRecovering, dedup.Warning)
	again := shown("source_unreachable", rule.OfStore, "payments", PhaseRecovering, dedup.Warning)
	again.Last.Value = 20 // it fell silent again before it was over
	again.State.Since = time.Unix(1, 0)
	over := shown("dead_letter_inflow", rule.OfPipeline, "a", PhaseRecovering, dedup.Emergency)
	worst := shown("dead_letter_inflow", rule.OfPipeline, "b", PhaseFiring, dedup.Emergency)
	severe := shown("dead_letter_inflow", rule.OfPipeline, "c", PhaseFiring, dedup.Severe)
	warning := shown("dead_letter_inflow", rule.OfPipeline, "d", PhaseFiring, dedup.Warning)
	soon := shown("dead_letter_inflow", rule.OfPipeline, "e", PhasePending, dedup.Normal)
	soon.State.Reached[0] = time.Unix(1, 0)
	blind := shown("dead_letter_inflow", rule.OfPipeline, "f", PhaseNormal, dedup.Normal)
	blind.State.Health = rule.HealthError
	dog := shown(RuleWatchdog, rule.OfDashboard, "", PhaseFiring, dedup.Warning)
	calm := shown("dead_letter_inflow", rule.OfPipeline, "g", PhaseNormal, dedup.Normal)
	v := &View{At: time.Unix(2, 0), Alerts: []*AlertView{calm, dog, blind, soon, back, again, warning, severe, over, worst, root}}
	v.summarise()
	for i, want := range []*AlertView{worst, over, severe, root, again, warning, back, soon, blind, dog, calm} {
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
	stale := shown("dead_letter_inflow", rule.OfPipeline, "refunds", PhaseFiring, dedup.Emergency)
	stale.State.Health, stale.Last.Why = rule.HealthError, "broker main cannot be read"
	acked := shown("dead_letter_inflow", rule.OfPipeline, "refunds", PhaseFiring, dedup.Emergency)
	acked.Ack, acked.Silences = &Ack{By: "ann"}, []string{"s1"}
	named := *stale
	named.LastOK.Why = "dead-letter inflow 747 per hour"
	for _, tt := range []struct {
		name  string
		p     *dedup.PipelineStatus
		alert *AlertView
		tier  dedup.Tier
		why   string
	}{
		{"one alone", status(), shown("dead_letter_inflow", rule.OfPipeline, "refunds", PhaseFiring, dedup.Emergency), dedup.Emergency, "Dead-letter inflow: 747 dead letters in 17 m"},
		{"a worse one than the findings", status(severe), shown("dead_letter_inflow", rule.OfPipeline, "refunds", PhaseFiring, dedup.Emergency), dedup.Emergency, "Dead-letter inflow: 747 dead letters in 17 m; messages wait"},
		{"findings that are as bad stay the reason", status(severe), shown("dead_letter_inflow", rule.OfPipeline, "refunds", PhaseFiring, dedup.Severe), dedup.Severe, "messages wait"},
		{"one that recovers", status(severe), shown("dead_letter_inflow", rule.OfPipeline, "refunds", PhaseRecovering, dedup.Emergency), dedup.Severe, "messages wait"},
		{"one that is pending", status(severe), shown("dead_letter_inflow", rule.OfPipeline, "refunds", PhasePending, dedup.Emergency), dedup.Severe, "messages wait"},
		{"one of another pipeline", status(severe), shown("dead_letter_inflow", rule.OfPipeline, "orders", PhaseFiring, dedup.Emergency), dedup.Severe, "messages wait"},
		{"one of a broker of the same name", status(severe), shown("dead_letter_inflow", rule.OfBroker, "refunds", PhaseFiring, dedup.Emergency), dedup.Severe, "messages wait"},
		{"one that cannot be judged any more", status(), stale, dedup.Emergency, "Dead-letter inflow, as it was last judged: 747 dead letters in 17 m"},
		{"one that cannot be judged any more, whose reason begins with its name", status(), &named, dedup.Emergency, "As it was last judged: dead-letter inflow 747 per hour"},
		{"one that somebody attends to", status(), acked, dedup.Emergency, "Dead-letter inflow: 747 dead letters in 17 m"},
	} {
		v := &View{Alerts: []*AlertView{shown("backlog", rule.OfPipeline, "refunds", PhaseFiring, dedup.Warning), tt.alert}}
		got := JudgeWith(tt.p, v.FiringOfPipelines()["refunds"])
		if got.Tier != tt.tier || got.Why != tt.why || got.Possible < got.Tier {
			t.Errorf("%s: %s, possibly %s, because %q", tt.name, got.Tier, got.Possible, got.Why)
		}
		if raised := got.Alert != nil; raised != (tt.tier == dedup.Emergency) {
			t.Errorf("%s: raised by %v", tt.name, got.Alert)
		}
	}
}

func TestAnAlertRestsOnTheSourceThatCannotBeRead(t *testing.T) {
	root := shown("source_unreachable", rule.OfBroker, "main", PhaseFiring, dedup.Warning)
	broker := dedup.SourceHealth{Name: "broker main", Kind: "broker", Tried: true, Err: "connection refused"}
	// Its error names the broker, as that of a proxy may: a sentence proves nothing.
	store := dedup.SourceHealth{Name: "store orders", Kind: "store", Tried: true, Err: "broker main cannot be read"}
	untried := dedup.SourceHealth{Name: "broker main", Kind: "broker"}
	ofPipeline := func(stuck float64, down ...dedup.SourceHealth) rule.Judgement {
		p := dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders"}, Stuck: dedup.Exact(dedup.Measured, dedup.Count, stuck, lifeStart, ""), Down: down}
		return judgedAt(t, builtIn(t, "stuck_markers", rule.OfPipeline), lifeStart, dedup.Snapshot{Pipelines: []dedup.PipelineStatus{p}})
	}
	ofBroker := judgedAt(t, builtIn(t, "node_down", rule.OfBroker), lifeStart, dedup.Snapshot{Brokers: []dedup.BrokerStatus{{Name: "main", Health: broker}}})
	silent := watching("orders")
	silent.Pipelines[0].Down = []dedup.SourceHealth{broker}
	query, err := rule.NewOverHistory([]rule.Rule{backlog()}, &cannedHistory{}).Judge(t.Context(), silent, lifeStart)
	if err != nil || len(query) != 1 {
		t.Fatalf("%d judgements, %v", len(query), err)
	}
	for _, tt := range []struct {
		name string
		last rule.Judgement
		want bool
	}{
		{"a pipeline by its broker", ofPipeline(0, broker), true},
		{"a pipeline by its broker and its store", ofPipeline(0, store, broker), true},
		{"a pipeline by its store", ofPipeline(0, store), false},
		{"a pipeline by its store and a broker that was not tried yet", ofPipeline(0, store, untried), false},
		{"a broker by itself", ofBroker, true},
		{"a query by its broker", query[0], true},
		{"a rule that failed", rule.Judgement{}.Unjudged(rule.HealthError, "broker main cannot be read: connection refused"), false},
		{"one that is judged all the same", ofPipeline(10, broker), false},
	} {
		blind := shown("dead_letters", rule.OfPipeline, "orders", PhaseFiring, dedup.Warning)
		blind.State.Health, blind.Last = tt.last.Health, tt.last
		if blind.RestsOn(root) != tt.want || root.RestsOn(root) {
			t.Errorf("%s (%s) rests on the broker: %v, want %v", tt.name, tt.last.Why, !tt.want, tt.want)
		}
	}
}

func TestAReasonThatNamesItsRuleDoesNotNameItTwice(t *testing.T) {
	for why, want := range map[string]string{
		"stuck markers: 15, at or above the limit of 10": "Stuck markers: 15, at or above the limit of 10",
		"15 of them, at or above the limit of 10":        "Stuck markers: 15 of them, at or above the limit of 10",
	} {
		a := shown("stuck_markers", rule.OfPipeline, "orders", PhaseFiring, dedup.Severe)
		a.Rule, a.Last.Why = &rule.Rule{Title: "Stuck markers"}, why
		if got := a.reason(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
