package alerts

import (
	"context"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// aged is the shop some minutes later.
func (s shop) aged(minutes int) *dedup.PipelineStatus {
	p := s.pipeline()
	for i := range p.Windows {
		p.Windows[i].DuplicateRate.At = causeNow.Add(time.Duration(minutes) * time.Minute)
	}
	return p
}

// calm is the shop without a rise and without restarts.
func (s shop) calm() shop {
	s.roseAt, s.restarts = 0, 0
	return s
}

func TestTheCauseOfAFiringAlertStaysWhileItStillQualifies(t *testing.T) {
	sent := func(low, high float64) shop {
		s := reviewed()
		s.sent = map[time.Duration][2]float64{window15: {low, high}}
		return s
	}
	restarts := func(redelivered float64) shop {
		s := reviewed()
		s.sent, s.perChannel, s.redeliveries, s.restarts = nil, 0, redelivered, 300
		return s
	}
	rising := func(minute int) shop {
		s := restarts(230)
		s.roseAt = minute
		return s
	}
	restart := []dedup.Event{{At: at(35, 0), Kind: "consumer_restart", Text: "crash loop", Count: 300}}
	for _, tt := range []struct {
		name        string
		first, then shop
		minutes     int
		events      []dedup.Event
		want        CauseKind
		say         string
	}{
		{"a little less than half does not change it", sent(230, 451), sent(200, 451), 1, nil, CauseProducer, "at least 200 of 451 duplicates in 15 m (44 %)."},
		{"much less does not change it at once, because the split widens before each pass", sent(230, 451), sent(100, 451), 4, nil, CauseProducer, "(51 %); figures last showed it at 02:40."},
		{"much less changes it after some minutes", sent(230, 451), sent(100, 451), 6, nil, CauseUnexplained, ""},
		{"redeliveries for the most part change it at once", sent(230, 451), sent(10, 100), 1, nil, CauseRedeliveries, ""},
		{"events stay while they can explain a little less than half", restarts(230), restarts(190), 1, restart, CauseRestart, "up to 190 of 451"},
		{"events stay though the rise is estimated elsewhere", rising(36), rising(24), 1, restart, CauseRestart, "Duplicates rose at 02:36"},
		{"events go an hour after the rise", rising(36), restarts(230).calm(), 90, restart, CauseUnexplained, ""},
		{"events go when they explain much less", restarts(230), restarts(100), 1, restart, CauseUnexplained, ""},
		{"a cause that is told for the first time needs half", sent(0, 451), sent(200, 451), 1, nil, CauseUnexplained, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, _ := likelyCause(tt.first.pipeline(), tt.events, Cause{})
			then, ok := likelyCause(tt.then.aged(tt.minutes), tt.events, first)
			if said := then.Sentence(time.UTC); !ok || then.Kind != tt.want || !strings.Contains(said, tt.say) {
				t.Errorf("first %q, then %q: %s\nwant %q with %q", first.Kind, then.Kind, said, tt.want, tt.say)
			}
		})
	}
}

// refusing is a store that has refused connections for some seconds before the stage's time.
func refusing(since, answered time.Time) dedup.SourceHealth {
	return dedup.SourceHealth{Name: "store orders", Kind: "store", Tried: true, Since: since, LastSuccess: answered, Err: "connection refused"}
}

func TestAnAlertThatFiresWhileASourceIsDownIsSaidToBeOfThat(t *testing.T) {
	looping := func() *dedup.PipelineStatus { return causeCase{looping: 900, stuck: 1}.pipeline() }
	sentTwice := func() *dedup.PipelineStatus { return causeCase{rate: 0.06, again: [2]float64{0, 0.1}}.pipeline() }
	both := func() *dedup.PipelineStatus { return causeCase{rate: 0.06, looping: 900, stuck: 1}.pipeline() }
	const lost = "Store orders cannot be read since 12:00:00 (connection refused)."
	for _, tt := range []struct {
		name, rule string
		p          *dedup.PipelineStatus
		since      time.Time
		answered   time.Duration // before the alert began; 0 for never
		say        string
	}{
		{"a loop that began with the outage", "redelivery_loop", looping(), evaluatedAt, time.Minute, lost},
		{"a rule that has no cause of its own", "scripted", looping(), evaluatedAt, time.Minute, lost},
		{"a source that never answered", "redelivery_loop", looping(), evaluatedAt, 0, lost},
		{"a source that never answered, and was first missed after the alert began", "scripted", looping(), evaluatedAt.Add(time.Hour), 0, ""},
		{"a source that was not tried yet", "scripted", looping(), time.Time{}, 0, ""},
		{"a loop among many duplicates", "redelivery_loop", both(), evaluatedAt, -time.Minute, "One message loops on a stuck marker: 900 redeliveries in 15 m, which are no duplicates; duplicates there are 600."},
		{"duplicates and a loop", "duplicate_rate", both(), evaluatedAt, -time.Minute, "No event explains the duplicates."},
		{"a loop that there was before", "redelivery_loop", looping(), evaluatedAt, -time.Minute, "One message loops on a stuck marker: 900 redeliveries in 15 m, no duplicates."},
		{"duplicates whose cause is known", "duplicate_rate", sentTwice(), evaluatedAt, time.Minute, "The producer sends messages twice: at least 540 of 600 duplicates in 15 m (90 %)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			judging := scripted(rule.Timing{Warning: rule.AtOnce, Severe: rule.AtOnce, Emergency: rule.AtOnce})
			judging.Name = tt.rule
			s := newStage(t, evaluatedAt, newStageJournal(), []rule.Rule{judging})
			s.overSnapshot = scriptedRules(func(context.Context, time.Time) ([]rule.Judgement, error) {
				return []rule.Judgement{{Key: rule.Key{Rule: tt.rule, Kind: rule.OfPipeline, Subject: "orders"}, Enters: dedup.Severe, Holds: dedup.Severe}}, nil
			})
			var answered time.Time
			if tt.answered != 0 {
				answered = s.now.Add(tickEvery - tt.answered)
			}
			tt.p.Down = []dedup.SourceHealth{refusing(tt.since, answered)}
			tt.p.Down[0].Tried = !tt.since.IsZero()
			s.snapshots.snap.Pipelines[0] = *tt.p
			s.tick(t.Context())
			if a, _ := s.View().Alert(rule.Key{Rule: tt.rule, Kind: rule.OfPipeline, Subject: "orders"}); a.Cause != tt.say {
				t.Errorf("says %q, want %q", a.Cause, tt.say)
			}
		})
	}
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
