package alerts

import (
	"context"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// duplicatesAt is a stage whose pipeline has duplicates for which an alert fires, in a zone of the machine.
func duplicatesAt(t *testing.T, journal *stageJournal, tier dedup.Tier) *stage {
	s := newStage(t, evaluatedAt.In(time.FixedZone("UTC+8", 8*3600)), journal, []rule.Rule{{Name: "duplicate_rate", Kind: rule.OfPipeline, Measure: "duplicate_rate"}})
	s.judgeBy(overSnapshot, func(context.Context, time.Time) ([]rule.Judgement, error) {
		return []rule.Judgement{{Key: rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"}, Enters: tier, Holds: tier}}, nil
	})
	return s
}

// sentTwice is a pipeline some minutes after the stage's time, with 451 duplicates of which the producer sent so many or more.
func sentTwice(minutes int, low float64) *dedup.PipelineStatus {
	const messages, duplicates, window = 14_000, 451, 15 * time.Minute
	figure := func(unit dedup.Unit, low, high float64) dedup.Figure {
		return dedup.Figure{Quality: dedup.Measured, Unit: unit, Value: low, Low: low, High: high, N: messages, Window: window, Covered: window,
			At: evaluatedAt.Add(time.Duration(minutes) * time.Minute)}
	}
	const rate = float64(duplicates) / messages
	return &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()}, Windows: []dedup.WindowFigures{{Window: window,
		DuplicateRate: figure(dedup.Ratio, rate, rate), Duplicates: figure(dedup.Count, duplicates, duplicates), ProducerSent: figure(dedup.Count, low, duplicates)}}}
}

func TestTheCauseThatAnAlertHoldsIsThatOfItsPipeline(t *testing.T) {
	s := duplicatesAt(t, newStageJournal(), dedup.Severe)
	s.snapshots.snap.Pipelines[0] = *sentTwice(0, 230)
	s.tick(t.Context())
	s.snapshots.snap.Pipelines[0] = *sentTwice(4, 100)
	s.tick(t.Context())
	a, _ := s.View().Alert(rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"})
	fresh, _ := cause.Likely(&s.snapshots.snap.Pipelines[0], nil)
	told := s.View().CausesOfPipelines()["orders"]
	if told.Sentence(time.UTC) != a.Cause || told.Kind != cause.Producer || fresh.Kind == cause.Producer {
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
	of := func(name string, kind rule.SubjectKind, phase Phase, said string) *AlertView {
		a := shown(name, kind, "orders", phase, dedup.Warning)
		a.Cause = said
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
	s.snapshots.snap.Pipelines[0].Down = []dedup.SourceHealth{refusing(evaluatedAt, time.Time{})}
	s.tick(t.Context())
	a, _ := s.View().Alert(rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"})
	east := time.FixedZone("UTC+8", 8*3600)
	if !strings.Contains(a.Cause, "since 12:00:00") || !strings.Contains(a.CauseIn(east), "since 20:00:00") {
		t.Errorf("is told %q, and shown in another zone %q", a.Cause, a.CauseIn(east))
	}
}

// refusing is a store that has refused connections for some seconds before the stage's time.
func refusing(since, answered time.Time) dedup.SourceHealth {
	return dedup.SourceHealth{Name: "store orders", Kind: "store", Tried: true, Since: since, LastSuccess: answered, Err: "connection refused"}
}

func TestWhatWasSaidBeforeARestartStaysWhileASourceIsDown(t *testing.T) {
	journal := newStageJournal()
	key := rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}
	journal.alerts[key] = Alert{Key: key, Cause: "Something better.", State: State{Phase: PhaseFiring, Tier: dedup.Severe, FiredAt: evaluatedAt, Since: evaluatedAt, Seen: evaluatedAt}}
	s := newStage(t, evaluatedAt, journal, soon())
	s.script(tierOf("orders", dedup.Severe))
	s.snapshots.snap.Pipelines[0].Down = []dedup.SourceHealth{refusing(evaluatedAt, time.Time{})}
	s.tick(t.Context())
	if a := s.alert(t, "orders"); a.Cause != "Something better." {
		t.Errorf("says %q", a.Cause)
	}
}

func TestAnOutageThatIsOverIsToldInThePast(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	s.script(tierOf("orders", dedup.Severe))
	health := refusing(evaluatedAt, time.Time{})
	s.snapshots.snap.Pipelines[0].Down = []dedup.SourceHealth{health}
	s.tick(t.Context())
	health.OK, health.Since, health.Err = true, evaluatedAt.Add(5*time.Minute+7*time.Second), ""
	s.snapshots.snap.Pipelines[0].Down, s.snapshots.snap.Sources = nil, []dedup.SourceHealth{health}
	s.tick(t.Context())
	const want = "Store orders could not be read from 12:00:00 to 12:05:07 (connection refused)."
	if a, _ := s.View().Alert(rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}); a.Cause != want {
		t.Errorf("says %q, want %q", a.Cause, want)
	}
	health.OK, health.Since, health.LastSuccess, health.Err = false, evaluatedAt.Add(6*time.Minute), s.now, "timeout"
	s.snapshots.snap.Pipelines[0].Down = []dedup.SourceHealth{health}
	s.tick(t.Context())
	if a := s.alert(t, "orders"); a.Cause != "Store orders cannot be read since 12:06:00 (timeout)." {
		t.Errorf("says %q of the next outage", a.Cause)
	}
	s.snapshots.snap.Pipelines[0].Down = nil
	s.script(tierOf("orders", dedup.Normal))
	for range 60 {
		s.tick(t.Context())
	}
	if a, _ := s.View().Alert(rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}); a.Cause != "" {
		t.Errorf("an alert that resolved still has the cause %q", a.Cause)
	}
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if a, _ := s.View().Alert(rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}); a.State.Phase != PhaseFiring || a.Cause != "" {
		t.Errorf("an alert that fires again %v has the cause %q of before", a.State.Phase, a.Cause)
	}
}
