package alerts

import (
	"context"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// duplicatesAt is a stage whose pipeline has duplicates for which an alert fires, in a zone of the machine.
func duplicatesAt(t *testing.T, journal *stageJournal, tier dedup.Tier) *stage {
	s := newStage(t, evaluatedAt.In(time.FixedZone("UTC+8", 8*3600)), journal, []rule.Rule{{Name: "duplicate_rate", Kind: rule.OfPipeline, Measure: "duplicate_rate"}})
	s.overSnapshot = scriptedRules(func(context.Context, time.Time) ([]rule.Judgement, error) {
		return []rule.Judgement{{Key: rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"}, Enters: tier, Holds: tier}}, nil
	})
	return s
}

func TestTheCauseThatAnAlertHoldsIsThatOfItsPipeline(t *testing.T) {
	s := duplicatesAt(t, newStageJournal(), dedup.Severe)
	sent := func(minutes int, low float64) *dedup.PipelineStatus {
		shop := reviewed()
		shop.sent = map[time.Duration][2]float64{window15: {low, 451}}
		return shop.aged(minutes)
	}
	s.snapshots.snap.Pipelines[0] = *sent(0, 230)
	s.tick(t.Context())
	s.snapshots.snap.Pipelines[0] = *sent(4, 100)
	s.tick(t.Context())
	a, _ := s.View().Alert(rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"})
	fresh, _ := LikelyCause(&s.snapshots.snap.Pipelines[0], nil)
	told := s.View().CausesOfPipelines()["orders"]
	if told.Sentence(time.UTC) != a.Cause || told.Kind != CauseProducer || fresh.Kind == CauseProducer {
		t.Errorf("the alert says %q, of the pipeline is said %q, and without the alert %q", a.Cause, told.Sentence(time.UTC), fresh.Sentence(time.UTC))
	}
}

func TestTheCauseFromBeforeARestartIsThatOfItsPipelineUntilThereIsANewerOne(t *testing.T) {
	journal := newStageJournal()
	key := rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"}
	journal.alerts[key] = Alert{Key: key, Cause: "Something better.", State: State{Phase: PhaseFiring, Tier: dedup.Severe, FiredAt: evaluatedAt, Since: evaluatedAt, Seen: evaluatedAt}}
	s := duplicatesAt(t, journal, dedup.Severe)
	s.tick(t.Context())
	if told := s.View().CausesOfPipelines()["orders"]; !told.Told() || told.Sentence(time.UTC) != "Something better." {
		t.Errorf("is said: %q", told.Sentence(time.UTC))
	}
}

func TestOnlyAnAlertAboutDuplicatesThatIsNotNormalGivesThePipelineItsCause(t *testing.T) {
	of := func(name string, kind rule.SubjectKind, phase Phase, cause string) *AlertView {
		a := shown(name, kind, "orders", phase, dedup.Warning)
		a.Cause = cause
		return a
	}
	for _, tt := range []struct {
		name string
		all  []*AlertView
		want string
	}{
		{"pending", []*AlertView{of("duplicate_rate", rule.OfPipeline, PhasePending, "A.")}, "A."},
		{"recovering", []*AlertView{of("redelivery_loop", rule.OfPipeline, PhaseRecovering, "A.")}, "A."},
		{"the worst of two", []*AlertView{of("redelivery_loop", rule.OfPipeline, PhaseFiring, "A."), of("duplicate_rate", rule.OfPipeline, PhasePending, "B.")}, "A."},
		{"the one that has a cause", []*AlertView{of("redelivery_loop", rule.OfPipeline, PhaseFiring, ""), of("duplicate_rate", rule.OfPipeline, PhasePending, "B.")}, "B."},
		{"normal", []*AlertView{of("duplicate_rate", rule.OfPipeline, PhaseNormal, "A.")}, ""},
		{"about something else", []*AlertView{of("dead_letters", rule.OfPipeline, PhaseFiring, "A.")}, ""},
		{"of a broker of the same name", []*AlertView{of("duplicate_rate", rule.OfBroker, PhaseFiring, "A.")}, ""},
	} {
		if told := (&View{Alerts: tt.all}).CausesOfPipelines()["orders"]; told.Sentence(time.UTC) != tt.want || told.Told() != (tt.want != "") {
			t.Errorf("%s: is said %q, want %q", tt.name, told.Sentence(time.UTC), tt.want)
		}
	}
}

func TestACauseIsToldWithTimesInUTCWhereverTheDashboardRuns(t *testing.T) {
	s := duplicatesAt(t, newStageJournal(), dedup.Severe)
	p := causeCase{rate: 0.05, roseAt: 20, again: [2]float64{0.9, 1}, watched: true}.pipeline()
	s.snapshots.snap.Pipelines[0] = *p
	s.tick(t.Context())
	want, _ := LikelyCause(p, nil)
	a, _ := s.View().Alert(rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"})
	if east := time.FixedZone("UTC+8", 8*3600); a.Cause != want.Sentence(time.UTC) || a.CauseIn(east) != want.Sentence(east) || a.Cause == a.CauseIn(east) {
		t.Errorf("is told %q, and shown in another zone %q", a.Cause, a.CauseIn(east))
	}
}
