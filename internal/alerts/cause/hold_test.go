package cause

import (
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
		want        Kind
		say         string
	}{
		{"a little less than half does not change it", sent(230, 451), sent(200, 451), 1, nil, Producer, "at least 200 of 451 duplicates in 15 m (44 %)."},
		{"much less does not change it at once, because the split widens before each pass", sent(230, 451), sent(100, 451), 4, nil, Producer, "(51 %); figures last showed it at 02:40."},
		{"much less changes it after some minutes", sent(230, 451), sent(100, 451), 6, nil, Unexplained, ""},
		{"redeliveries for the most part change it at once", sent(230, 451), sent(10, 100), 1, nil, Redeliveries, ""},
		{"events stay while they can explain a little less than half", restarts(230), restarts(190), 1, restart, Restart, "up to 190 of 451"},
		{"events stay though the rise is estimated elsewhere", rising(36), rising(24), 1, restart, Restart, "Duplicates rose at 02:36"},
		{"events go an hour after the rise", rising(36), restarts(230).calm(), 90, restart, Unexplained, ""},
		{"events go when they explain much less", restarts(230), restarts(100), 1, restart, Unexplained, ""},
		{"a cause that is told for the first time needs half", sent(0, 451), sent(200, 451), 1, nil, Unexplained, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, _ := likely(tt.first.pipeline(), tt.events, Cause{})
			then, ok := likely(tt.then.aged(tt.minutes), tt.events, first)
			if said := then.Sentence(time.UTC); !ok || then.Kind != tt.want || !strings.Contains(said, tt.say) {
				t.Errorf("first %q, then %q: %s\nwant %q with %q", first.Kind, then.Kind, said, tt.want, tt.say)
			}
		})
	}
}

// lostAt is when the store of the scenes is first missed.
var lostAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

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
		{"a loop that began with the outage", "redelivery_loop", looping(), lostAt, time.Minute, lost},
		{"a rule that has no cause of its own", "scripted", looping(), lostAt, time.Minute, lost},
		{"a source that never answered", "redelivery_loop", looping(), lostAt, 0, lost},
		{"a source that never answered, and was first missed after the alert began", "scripted", looping(), lostAt.Add(time.Hour), 0, ""},
		{"a source that was not tried yet", "scripted", looping(), time.Time{}, 0, ""},
		{"a loop among many duplicates", "redelivery_loop", both(), lostAt, -time.Minute, "One message loops on a stuck marker: 900 redeliveries in 15 m, which are no duplicates; duplicates there are 600."},
		{"duplicates and a loop", "duplicate_rate", both(), lostAt, -time.Minute, "No event explains the duplicates."},
		{"a loop that there was before", "redelivery_loop", looping(), lostAt, -time.Minute, "One message loops on a stuck marker: 900 redeliveries in 15 m, no duplicates."},
		{"duplicates whose cause is known", "duplicate_rate", sentTwice(), lostAt, time.Minute, "Messages are published twice: at least 540 of 600 duplicates in 15 m (90 %)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const began = 15 * time.Second
			var answered time.Time
			if tt.answered != 0 {
				answered = lostAt.Add(began - tt.answered)
			}
			tt.p.Down = []dedup.SourceHealth{{Name: "store orders", Kind: "store", Tried: !tt.since.IsZero(), Since: tt.since, LastSuccess: answered, Err: "connection refused"}}
			j := rule.Judgement{Key: rule.Key{Rule: tt.rule, Kind: rule.OfPipeline, Subject: "orders"}, Enters: dedup.Severe, Holds: dedup.Severe}
			c, told := Explain(j, &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{*tt.p}}, tt.p, Cause{}, lostAt.Add(began))
			if said := c.Sentence(time.UTC); said != tt.say || told != (tt.say != "") {
				t.Errorf("says %q, want %q", said, tt.say)
			}
		})
	}
}

// TestACauseThatFiguresShowNoMoreIsToldAsPast: its alert fires for a while after what it is about has ended.
func TestACauseThatFiguresShowNoMoreIsToldAsPast(t *testing.T) {
	calm := causeCase{rate: 0.0001}.pipeline()
	for _, tt := range []struct {
		name, rule string
		first      causeCase
		health     rule.Health
		say        string
	}{
		{"a loop", "redelivery_loop", causeCase{looping: 900, stuck: 1}, rule.HealthOK, "One message looped on a stuck marker: 900 redeliveries in 15 m, no duplicates; that ended by 03:10."},
		{"a loop of which nothing is known", "redelivery_loop", causeCase{looping: 900, stuck: 1}, rule.HealthNoData, "One message loops on a stuck marker: 900 redeliveries in 15 m, no duplicates."},
		{"a loop that was seen to have ended", "redelivery_loop", causeCase{looping: 900, stuck: 1, loopOver: true}, rule.HealthOK, "One message looped on a stuck marker: 900 redeliveries in 15 m, no duplicates; that ended by 02:35."},
		{"duplicates", "duplicate_rate", causeCase{rate: 0.06, again: [2]float64{0, 0.1}}, rule.HealthOK, "Messages are published twice: at least 540 of 600 duplicates in 15 m (90 %); figures last showed it at 02:40."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := rule.Judgement{Key: rule.Key{Rule: tt.rule, Kind: rule.OfPipeline, Subject: "orders"}, Enters: dedup.Severe, Holds: dedup.Severe, At: causeNow}
			p := tt.first.pipeline()
			first, ok := Explain(j, &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{*p}}, p, Cause{}, at(30, 0))
			if !ok {
				t.Fatal("it is not explained at first")
			}
			j.Enters, j.Holds, j.Health, j.At = dedup.Normal, dedup.Severe, tt.health, at(70, 0)
			then, _ := Explain(j, &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{*calm}}, calm, first, at(30, 0))
			if said := then.Sentence(time.UTC); said != tt.say {
				t.Errorf("says %q, want %q", said, tt.say)
			}
			again, _ := Explain(j, &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{*calm}}, calm, then, at(30, 0))
			if again.Sentence(time.UTC) != then.Sentence(time.UTC) {
				t.Errorf("the next time it says %q", again.Sentence(time.UTC))
			}
		})
	}
}
