package alerts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

func TestAnEdgeCarriesTheJudgementThatMadeItAndTheLikelyCause(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), []rule.Rule{{Name: "duplicate_rate", Title: "duplicate rate", Kind: rule.OfPipeline, Measure: "duplicate_rate"}})
	p := sentTwice(0, 230)
	p.Pipeline.Broker = "main"
	s.snapshots.snap.Pipelines[0] = *p
	s.judgeBy(overSnapshot, func(_ context.Context, at time.Time) ([]rule.Judgement, error) {
		return []rule.Judgement{{Key: rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"}, Enters: dedup.Severe, Holds: dedup.Severe,
			Value: 0.05, Limit: 0.03, N: 10_000, Why: "duplicate rate 5.00 %, at or above the severe limit of 3.00 %"}}, nil
	})
	s.tick(t.Context())
	if len(s.journal.edges) != 1 {
		t.Fatalf("edges %v, want one", s.journal.told())
	}
	want, ok := cause.Likely(p, nil)
	if !ok {
		t.Fatal("the pipeline of the test has no likely cause")
	}
	e := s.journal.edges[0]
	if e.Cause != want.Sentence(time.UTC) || e.Judgement.Value != 0.05 || e.Judgement.N != 10_000 || !e.Judgement.At.Equal(s.now) || e.Judgement.Labels["broker"] != "main" {
		t.Errorf("edge %+v, want the judgement with its labels and the cause %q", e, want.Sentence(time.UTC))
	}
	if a, _ := s.View().Alert(e.Judgement.Key); a.Cause != e.Cause {
		t.Errorf("the page shows the cause %q, the edge %q", a.Cause, e.Cause)
	}
}

func TestTheCauseOfDuplicatesIsNotSaidOfAnotherAlert(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	p := sentTwice(0, 230)
	s.snapshots.snap.Pipelines[0] = *p
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if e := s.journal.edges; len(e) != 1 || e[0].Cause != "" {
		t.Errorf("got %+v, want one edge without a cause", e)
	}
}

func TestTheAlertOfASubjectThatLeftTheConfigurationResolvesWithANote(t *testing.T) {
	for _, tt := range []struct {
		name  string
		leave func(*stage)
		why   string
	}{
		{"the pipeline is gone", func(s *stage) { s.snapshots.snap = watching("emails") }, "the pipeline left the configuration"},
		{"the rule is gone", func(s *stage) { s.book = rule.NewBook(nil) }, "the rule left the configuration"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, evaluatedAt, newStageJournal(), soon())
			s.script(tierOf("orders", dedup.Severe))
			s.tick(t.Context())
			tt.leave(s)
			s.script()
			s.tick(t.Context())
			if got := s.journal.told(); len(got) != 2 || got[1] != "orders resolved severe to normal" || !strings.Contains(s.journal.edges[1].Judgement.Why, tt.why) {
				t.Fatalf("edges %v, want that it resolved with a note", got)
			}
			s.tick(t.Context())
			if v := s.View(); len(v.Alerts) != 0 || len(s.journal.told()) != 2 {
				t.Errorf("%d alerts, edges %v; want that it is forgotten", len(v.Alerts), s.journal.told())
			}
			if a := s.journal.alerts[rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}]; a.State.Phase != PhaseNormal {
				t.Errorf("the journal has it %v", a.State.Phase)
			}
		})
	}
}

func TestEvaluationsOfALongIntervalAreNoPauses(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), []rule.Rule{scripted(rule.DefaultTiming())}, func(d *EngineDeps) { d.Interval = 5 * time.Minute })
	s.script(tierOf("orders", dedup.Severe))
	for range 2 {
		s.now = s.now.Add(5*time.Minute - tickEvery)
		s.tick(t.Context())
	}
	if got := s.journal.told(); !slices.Equal(got, []string{"orders fired normal to severe"}) {
		t.Errorf("after two evaluations: %v, want that it fired", got)
	}
}

func TestNothingIsKeptOfAnAlertThatWasNormalAndLeftTheConfiguration(t *testing.T) {
	pending := scripted(rule.DefaultTiming())
	for name, c := range map[string]struct {
		rules []rule.Rule
		was   rule.Judgement
	}{
		"without data": {soon(), tierOf("orders", dedup.TierUnknown)},
		"pending":      {[]rule.Rule{pending}, tierOf("orders", dedup.Severe)},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %t", name, restarted), func(t *testing.T) {
				s := newStage(t, evaluatedAt, newStageJournal(), c.rules)
				s.script(c.was)
				s.tick(t.Context())
				if a, kept := s.journal.alerts[c.was.Key]; !kept || calm(a.State) {
					t.Fatalf("the journal has %+v", a.State)
				}
				if restarted {
					s = newStage(t, s.now, s.journal, c.rules)
				}
				s.snapshots.snap = watching("emails")
				s.script()
				for range 3 {
					s.tick(t.Context())
				}
				if a := s.journal.alerts[c.was.Key]; !calm(a.State) || len(s.journal.edges) != 0 {
					t.Errorf("the journal has %+v, edges %v", a.State, s.journal.told())
				}
				if len(s.alerts) != 0 {
					t.Errorf("%d alerts are still known", len(s.alerts))
				}
			})
		}
	}
}

func TestAnAlertThatNoRuleSaysAnythingOfStaysAsItIs(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	s.script()
	for range 40 {
		s.tick(t.Context())
	}
	if a := s.alert(t, "orders"); !a.State.Fires() || a.Last.Health != rule.HealthError || len(s.journal.edges) != 1 {
		t.Errorf("alert %+v, %v; edges %v", a.State, a.Last, s.journal.told())
	}
}

func TestACalmAlertIsNotWrittenAgainAndAgain(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	s.script(tierOf("orders", dedup.Normal), tierOf("emails", dedup.TierUnknown))
	for range 5 {
		s.tick(t.Context())
	}
	if ticks := s.journal.ticks; len(ticks) != 1 || len(ticks[0].Alerts) != 1 || ticks[0].Alerts[0].Key.Subject != "emails" {
		t.Errorf("%+v was written, want once that emails cannot be told", ticks)
	}
	if v := s.View(); len(v.Alerts) != 2 || v.Alerts[0].Key.Subject != "emails" || len(v.Alerts[0].History) != 5 {
		t.Errorf("view %+v, want both alerts with their history, the unknown one first", v.Alerts)
	}
}

func TestTheLastTwentyEvaluationsAnswerWhyAndAreNeverWrittenToAgain(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	var views []*View
	var copies [][]Evaluated
	for i := range 100 {
		j := tierOf("orders", dedup.Normal)
		j.Value = float64(i)
		s.script(j)
		s.tick(t.Context())
		views = append(views, s.View())
		copies = append(copies, slices.Clone(s.View().Alerts[0].History))
	}
	for i, v := range views {
		h := v.Alerts[0].History
		if len(h) != min(i+1, 20) || h[len(h)-1].Value != float64(i) || !slices.Equal(h, copies[i]) {
			t.Fatalf("view %d has %d evaluations that end at %v", i, len(h), h[len(h)-1].Value)
		}
	}
}

// flappingPlanner tells of alerts that change too often.
type flappingPlanner struct {
	stagePlanner
	since map[rule.Key]time.Time
}

func (f *flappingPlanner) Flapping(k rule.Key) time.Time { return f.since[k] }

func TestSinceWhenAnAlertFlapsIsKeptAndShownAndSoIsItsEnd(t *testing.T) {
	key := rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}
	p := &flappingPlanner{since: map[rule.Key]time.Time{key: evaluatedAt}}
	s := newStage(t, evaluatedAt, newStageJournal(), soon(), func(d *EngineDeps) { d.Planner = p })
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if a := s.alert(t, "orders"); !a.Flapping.Equal(evaluatedAt) || !s.journal.alerts[key].Flapping.Equal(evaluatedAt) {
		t.Errorf("shown since %s, kept since %s", a.Flapping, s.journal.alerts[key].Flapping)
	}
	s.script(tierOf("orders", dedup.Normal))
	s.tick(t.Context())
	s.tick(t.Context())
	delete(p.since, key)
	s.tick(t.Context())
	if a := s.alert(t, "orders"); !a.Flapping.IsZero() || !s.journal.alerts[key].Flapping.IsZero() {
		t.Errorf("it is calm, but shown since %s, kept since %s", a.Flapping, s.journal.alerts[key].Flapping)
	}
}

func TestOnePipelineWithoutDataLeavesTheOthersAlone(t *testing.T) {
	keeps := backlog()
	keeps.NoData = rule.NoDataKeep
	history := &cannedHistory{values: map[string][]series.Value{"ready": {valueFor("orders", 500), valueFor("emails", 500)}}}
	s := newStage(t, evaluatedAt, newStageJournal(), []rule.Rule{keeps}, func(d *EngineDeps) { d.History = history })
	s.tick(t.Context())
	history.values["ready"] = []series.Value{valueFor("emails", 5000)}
	for range 30 {
		s.tick(t.Context())
	}
	orders, _ := s.View().Alert(rule.Key{Rule: "backlog", Kind: rule.OfPipeline, Subject: "orders"})
	emails, _ := s.View().Alert(rule.Key{Rule: "backlog", Kind: rule.OfPipeline, Subject: "emails"})
	if orders.State.Tier != dedup.Warning || !orders.State.Fires() || orders.State.Health != rule.HealthNoData {
		t.Errorf("orders: %+v, want that it still fires, without data", orders.State)
	}
	if emails.State.Tier != dedup.Severe || emails.State.Health != rule.HealthOK {
		t.Errorf("emails: %+v, want severe", emails.State)
	}
}

func TestTheEngineRunsOnItsOwnTickerAndTellsOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		topics := map[string]int{}
		dues := 0
		s := newStage(t, time.Now(), newStageJournal(), soon(), func(d *EngineDeps) {
			d.Changed = func(topic string) { mu.Lock(); topics[topic]++; mu.Unlock() }
			d.Due = func() { mu.Lock(); dues++; mu.Unlock() }
		})
		var tier dedup.Tier = dedup.Normal
		s.judgeBy(overSnapshot, func(_ context.Context, at time.Time) ([]rule.Judgement, error) {
			mu.Lock()
			defer mu.Unlock()
			return []rule.Judgement{tierOf("orders", tier)}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(2*tickEvery + time.Second)
		synctest.Wait()
		mu.Lock()
		if got := s.View().Evaluations; got != 3 || topics["alerts"] != 1 || dues != 0 {
			t.Errorf("%d evaluations, %v topics, %d times due; want 3, one of them news, nothing due", got, topics, dues)
		}
		tier = dedup.Severe
		mu.Unlock()
		time.Sleep(tickEvery)
		synctest.Wait()
		mu.Lock()
		if topics["alerts"] != 2 || dues != 1 || s.View().Worst != dedup.Severe {
			t.Errorf("%v topics, %d times due, worst %v", topics, dues, s.View().Worst)
		}
		mu.Unlock()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}
