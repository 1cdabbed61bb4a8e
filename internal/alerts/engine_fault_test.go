package alerts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

func TestEdgesOfACommitThatFailedComeAgainAsTheyWere(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	s.script(tierOf("orders", dedup.Normal))
	s.tick(t.Context())
	s.journal.fail = errors.New("database is locked")
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	fired := s.now
	if v := s.View(); v.Worst != dedup.Normal || v.FailedCommits != 1 || len(v.Errors) != 1 || !strings.Contains(v.Errors[0], "cannot be kept") {
		t.Errorf("after a failed commit: worst %v, %d failed, errors %v; want what was kept before, and why", v.Worst, v.FailedCommits, v.Errors)
	}
	if strings.Contains(s.View().Errors[0], "locked") {
		t.Errorf("the page tells an inner error: %q", s.View().Errors[0])
	}
	s.script(tierOf("orders", dedup.Normal)) // it is over before the journal comes back
	s.tick(t.Context())
	s.tick(t.Context())
	s.journal.set(func(j *stageJournal) { j.fail = nil })
	s.tick(t.Context())
	if got := s.journal.told(); len(got) != 2 || got[0] != "orders fired normal to severe" || got[1] != "orders resolved severe to normal" {
		t.Fatalf("kept %v, want that it fired and that it resolved", got)
	}
	if e := s.journal.edges[0]; !e.At.Equal(fired) || !e.Judgement.At.Equal(fired) || e.Judgement.Why != "it is severe" {
		t.Errorf("the edge came again as %+v, want it as of %s", e, fired)
	}
	if s.planner.undos != 3 {
		t.Errorf("%d plans were taken back, want the 3 that were not kept", s.planner.undos)
	}
	if last := s.planner.seen[len(s.planner.seen)-1]; len(last) != 2 || len(s.journal.due) != 2 {
		t.Errorf("the plan that was kept saw %d edges and made %d notifications, want 2 and 2", len(last), len(s.journal.due))
	}
	s.tick(t.Context())
	if got := s.journal.told(); len(got) != 2 {
		t.Errorf("edges came again after they were kept: %v", got)
	}
	if v := s.View(); len(v.Errors) != 0 || v.FailedCommits != 3 {
		t.Errorf("errors %v, %d failed commits", v.Errors, v.FailedCommits)
	}
}

func TestWhatTheJournalHasNotTakenIsNotShownByASilenceInBetween(t *testing.T) {
	silences := &changingSilences{}
	s := newStage(t, evaluatedAt, newStageJournal(), soon(), func(d *EngineDeps) { d.Silences = silences })
	s.script(tierOf("orders", dedup.Normal))
	s.tick(t.Context())
	s.journal.fail = errors.New("database is locked")
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	fresh := nightly()
	fresh.Ends = time.Now().Add(time.Hour)
	silences.now = []Silence{fresh}
	if err := s.ReloadSilences(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := s.View(); v.Worst != dedup.Normal || len(v.Silences) != 1 || len(v.Errors) != 1 {
		t.Errorf("worst %v, silences %v, errors %v; want what was kept, the silence, and the error", v.Worst, v.Silences, v.Errors)
	}
	key := rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}
	if err := s.Acknowledge(t.Context(), key, "ada", "", dedup.TierUnknown, time.Now().Add(time.Hour)); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("acknowledged what is not kept: %v", err)
	}
}

func TestTheEngineWaitsForAJournalThatRefusesForLong(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("p%d", i))
	}
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	s.snapshots.snap = watching(names...)
	s.journal.fail = errors.New("disk is full")
	turn := func(tier dedup.Tier) {
		var js []rule.Judgement
		for _, n := range names {
			js = append(js, tierOf(n, tier))
		}
		s.script(js...)
		s.tick(t.Context())
	}
	for i := range 30 {
		turn([]dedup.Tier{dedup.Severe, dedup.Normal}[i%2])
	}
	if n := len(s.unkept); n != maxUnkept {
		t.Errorf("%d edges wait, want that the engine waits from %d on", n, maxUnkept)
	}
	s.journal.fail = nil
	turn(dedup.Severe)
	if n := len(s.journal.edges); n != maxUnkept || s.View().Firing != 0 {
		t.Errorf("%d edges were kept, %d alerts fire; want those that waited", n, s.View().Firing)
	}
	turn(dedup.Severe)
	if s.View().Firing != 1000 {
		t.Errorf("%d alerts fire, want all", s.View().Firing)
	}
}

func TestAHungSourceOfSnapshotsMakesAlertsStaleAndResolvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := append(soon(), rule.Rule{Name: "watchdog", Title: "watchdog", Kind: rule.OfDashboard, Measure: "watchdog"})
		s := newStage(t, time.Now(), newStageJournal(), rules)
		watchdog := rule.Judgement{Key: rule.Key{Rule: "watchdog", Kind: rule.OfDashboard}, Enters: dedup.Warning, Holds: dedup.Warning}
		s.script(tierOf("orders", dedup.Severe), watchdog)
		s.tick(t.Context())
		hang := make(chan struct{})
		s.snapshots.hang = hang
		for i := range 6 {
			time.Sleep(tickEvery)
			if i == 3 { // by figures that are too old it is over
				s.script(tierOf("orders", dedup.Normal), watchdog)
			}
			began := time.Now()
			s.Evaluate(t.Context(), began)
			if took := time.Since(began); took > tickEvery {
				t.Fatalf("an evaluation waited %s for a source that hangs", took)
			}
		}
		a := s.alert(t, "orders")
		if !a.State.Fires() || a.State.Tier != dedup.Severe || a.Last.Health != rule.HealthError || !a.Stale() || !strings.Contains(a.Last.Why, "old") {
			t.Errorf("alert %+v, judged %v %q; want it firing at severe, and stale", a.State, a.Last.Health, a.Last.Why)
		}
		if v := s.View(); len(v.Errors) == 0 || v.Worst != dedup.Severe {
			t.Errorf("errors %v, worst %v", v.Errors, v.Worst)
		}
		if a, ok := s.View().Alert(watchdog.Key); !ok || !a.State.Fires() || a.Last.Health != rule.HealthOK {
			t.Errorf("the watchdog does not fire: %+v", a)
		}
		close(hang)
		if got := s.journal.told(); len(got) != 2 {
			t.Errorf("edges %v, want that both fired and no more", got)
		}
	})
}

func TestRulesThatHangLeaveTheOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		history := scripted(rule.Timing{})
		history.Name, history.Expr = "from_history", "x"
		s := newStage(t, time.Now(), newStageJournal(), append(soon(), history))
		s.script(tierOf("orders", dedup.Warning))
		firing := rule.Judgement{Key: rule.Key{Rule: "from_history", Kind: rule.OfPipeline, Subject: "orders"}, Enters: dedup.Severe, Holds: dedup.Severe}
		s.judgeBy(overHistory, func(context.Context, time.Time) ([]rule.Judgement, error) { return []rule.Judgement{firing}, nil })
		s.tick(t.Context())
		hang := make(chan struct{})
		s.judgeBy(overHistory, func(context.Context, time.Time) ([]rule.Judgement, error) { <-hang; return nil, nil })
		s.script(tierOf("orders", dedup.Emergency))
		s.tick(t.Context())
		s.tick(t.Context())
		if a := s.alert(t, "orders"); a.State.Tier != dedup.Emergency || a.Last.Health != rule.HealthOK {
			t.Errorf("the other rule is held up: %+v", a.State)
		}
		a, _ := s.View().Alert(firing.Key)
		if !a.State.Fires() || a.Last.Health != rule.HealthError || !strings.Contains(a.Last.Why, "has not come back") {
			t.Errorf("what hangs: %+v, %q; want it firing and stale", a.State, a.Last.Why)
		}
		close(hang)
		synctest.Wait()
		s.judgeBy(overHistory, func(context.Context, time.Time) ([]rule.Judgement, error) { return []rule.Judgement{firing}, nil })
		s.tick(t.Context())
		if a, _ := s.View().Alert(firing.Key); a.Last.Health != rule.HealthOK {
			t.Errorf("it is not evaluated again: %q", a.Last.Why)
		}
	})
}

func TestAHungJournalHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, time.Now(), newStageJournal(), soon())
		hang := make(chan struct{})
		s.journal.hang = hang
		s.script(tierOf("orders", dedup.Severe))
		for range 3 {
			began := time.Now()
			s.tick(t.Context())
			if took := time.Since(began); took > tickEvery {
				t.Fatalf("an evaluation waited %s for the journal", took)
			}
		}
		s.journal.set(func(j *stageJournal) { j.hang = nil })
		close(hang)
		synctest.Wait()
		s.tick(t.Context())
		var first time.Time
		for _, e := range s.journal.edges { // the one that hung was kept after all: the same edge may come twice, and is the same
			if first.IsZero() {
				first = e.At
			}
			if e.Kind != EdgeFired || !e.At.Equal(first) {
				t.Errorf("edge %+v, want that it fired at %s", e.Edge, first)
			}
		}
		if first.IsZero() || s.View().Worst != dedup.Severe {
			t.Errorf("nothing was kept: %v, worst %v", s.journal.told(), s.View().Worst)
		}
	})
}

func TestNothingIsEvaluatedBeforeTheAlertsOfBeforeAreRead(t *testing.T) {
	journal := newStageJournal()
	key := rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}
	journal.alerts[key] = Alert{Key: key, State: State{Phase: PhaseFiring, Tier: dedup.Severe, Since: evaluatedAt, FiredAt: evaluatedAt, Seen: evaluatedAt}}
	journal.loads = errors.New("disk I/O error")
	s := newStage(t, evaluatedAt, journal, soon())
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if v := s.View(); !v.At.IsZero() || len(v.Errors) != 1 || len(journal.ticks) != 0 || v.Worst != dedup.TierUnknown {
		t.Errorf("view %+v, want none, and why", v)
	}
	journal.loads = nil
	s.tick(t.Context())
	if got := journal.told(); len(got) != 0 || s.View().Worst != dedup.Severe {
		t.Errorf("edges %v, worst %v; want none, and that it still fires", got, s.View().Worst)
	}
}

func TestBeforeTheFirstRoundNothingHasLeftTheConfiguration(t *testing.T) {
	journal := newStageJournal()
	key := rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}
	journal.alerts[key] = Alert{Key: key, State: State{Phase: PhaseFiring, Tier: dedup.Severe, Since: evaluatedAt, FiredAt: evaluatedAt, Seen: evaluatedAt}}
	s := newStage(t, evaluatedAt, journal, soon())
	s.snapshots.snap = &dedup.Snapshot{Interval: tickEvery}
	for range 6 {
		s.now = s.now.Add(tickEvery)
		s.Evaluate(t.Context(), s.now)
	}
	if got := journal.told(); len(got) != 0 || s.View().Worst != dedup.Severe {
		t.Errorf("edges %v, worst %v; want none, and that it still fires", got, s.View().Worst)
	}
	if v := s.View(); len(v.Errors) != 1 || !strings.Contains(v.Errors[0], "no round of the collector has ended") {
		t.Errorf("errors %v, want that no round ends", v.Errors)
	}
}

func TestAnAlertOfBeforeARestartIsPlannedForAlthoughItIsNormalNow(t *testing.T) {
	journal := newStageJournal()
	key := rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}
	journal.alerts[key] = Alert{Key: key, State: State{Tier: dedup.Normal, Since: evaluatedAt, Seen: evaluatedAt}}
	s := newStage(t, evaluatedAt, journal, soon())
	s.script(tierOf("orders", dedup.Normal), tierOf("emails", dedup.Normal))
	s.tick(t.Context())
	if known := s.planner.known[0]; len(known) != 1 || known[0].Key != key {
		t.Errorf("the plan knows %v, want the alert that a channel may wait to hear the end of, and no calm one", known)
	}
}

func TestACommitThatHangsDoesNotKeepAlertsStillForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, time.Now(), newStageJournal(), soon())
		hang := make(chan struct{})
		defer close(hang)
		s.journal.set(func(j *stageJournal) { j.hang = hang })
		s.script(tierOf("orders", dedup.Severe), tierOf("emails", dedup.Normal))
		s.tick(t.Context())
		s.journal.set(func(j *stageJournal) { j.hang = nil })
		s.script(tierOf("orders", dedup.Severe), tierOf("emails", dedup.Severe))
		for range 40 {
			s.tick(t.Context())
		}
		if got := s.alerts[tierOf("emails", dedup.Severe).Key].State.Tier; got != dedup.Severe {
			t.Errorf("emails is %s after ten minutes", got)
		}
	})
}

// TestARestartAtAnyTickYieldsTheSameEdges runs one timeline twice: once with the engine made anew from the journal at random ticks.
func TestARestartAtAnyTickYieldsTheSameEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "ticks")
		timing := rule.Timing{
			Warning: time.Duration(rapid.IntRange(0, 6).Draw(t, "for warning")) * 20 * time.Second,
			Severe:  time.Duration(rapid.IntRange(0, 6).Draw(t, "for severe")) * 20 * time.Second, Emergency: 20 * time.Second,
			KeepFiring: time.Duration(rapid.IntRange(0, 6).Draw(t, "keep firing")) * 20 * time.Second,
		}
		// Levels last for several evaluations, so that something fires.
		levels := make([]dedup.Tier, 0, n)
		for len(levels) < n {
			tier := dedup.Tier(rapid.IntRange(0, 4).Draw(t, "tier"))
			for range rapid.IntRange(1, 12).Draw(t, "for") {
				levels = append(levels, tier)
			}
		}
		restarts := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "restarts")
		fails := rapid.SliceOfN(rapid.IntRange(0, 5), n, n).Draw(t, "fails")
		play := func(broken bool) []Transition {
			journal := newStageJournal()
			s := newStage(t, evaluatedAt, journal, []rule.Rule{scripted(timing)})
			for i := range n {
				if broken && restarts[i] {
					s = newStage(t, s.now, journal, []rule.Rule{scripted(timing)})
				}
				journal.fail = nil
				if broken && fails[i] == 0 && (i+1 >= n || !restarts[i+1]) { // and comes back before the next restart
					journal.fail = errors.New("database is locked")
				}
				s.script(tierOf("orders", levels[i]))
				s.tick(context.Background())
			}
			journal.fail = nil
			s.script(tierOf("orders", dedup.TierUnknown))
			s.tick(context.Background())
			return journal.edges
		}
		whole, broken := play(false), play(true)
		if len(whole) != len(broken) {
			t.Fatalf("%d edges without a restart, %d with: %v %v", len(whole), len(broken), whole, broken)
		}
		for i := range whole {
			a, b := whole[i].Edge, broken[i].Edge
			if a.Kind != b.Kind || a.From != b.From || a.To != b.To || b.At.Sub(a.At).Abs() > tickEvery {
				t.Errorf("edge %d: %+v without a restart, %+v with", i, a, b)
			}
		}
	})
}
