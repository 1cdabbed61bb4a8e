package dispatch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// restarted is a stage with a dispatcher that knows what the journal has.
func restarted(t *testing.T, now time.Time, journal *stageJournal, silences ...alerts.Silence) *stage {
	told := map[sentKey]alerts.Sent{}
	var log []alerts.Sent
	for _, tick := range journal.ticks {
		for _, s := range tick.Sent {
			told[sentKey{s.Channel, s.Key}] = s
		}
	}
	for _, s := range told {
		if s.Tier > dedup.Normal || !s.Flapping.IsZero() {
			log = append(log, s)
		}
	}
	cfg := Default()
	cfg.Channels = []string{"ops"}
	d := New(cfg)
	d.Restore(log)
	d.Recall(journal.edges)
	s := newStage(t, now, journal, d)
	s.silences = silences
	return s
}

func TestTheEndOfAnAlertThatLeftTheConfigurationIsToldHoweverOftenTheDashboardIsRestarted(t *testing.T) {
	long := alerts.Silence{ID: "s", Matchers: []alerts.Matcher{{Name: rule.LabelRule, Op: alerts.MatchEqual, Value: "scripted"}}, Author: "ann", Reason: "deploy",
		Starts: deskOpens.Add(3 * time.Minute), Ends: deskOpens.Add(time.Hour)}
	for name, c := range map[string]struct {
		silences []alerts.Silence
		restarts int
	}{
		"once":                   {nil, 1},
		"twice in the interval":  {nil, 2},
		"thrice in the interval": {nil, 3},
		"twice in a silence":     {[]alerts.Silence{long}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			journal := newStageJournal()
			s := restarted(t, deskOpens, journal, c.silences...)
			s.script(tierOf("orders", dedup.Severe))
			for range 8 {
				s.tick(t.Context())
			}
			for range c.restarts {
				s = restarted(t, s.now, journal, c.silences...)
				s.watch("emails")
				s.script()
				for range 4 {
					s.tick(t.Context())
				}
			}
			for range 300 {
				s.tick(t.Context())
			}
			if got := journal.dueText(); !slices.Equal(got, []string{"orders fired", "orders resolved"}) {
				t.Errorf("told %q", got)
			}
			if _, known := s.View().Alert(keyOf("orders")); known {
				t.Error("the alert is still known")
			}
		})
	}
}

func TestNothingIsToldAfterAStartBeforeSilencesWereRead(t *testing.T) {
	long := alerts.Silence{ID: "s", Matchers: []alerts.Matcher{{Name: rule.LabelRule, Op: alerts.MatchEqual, Value: "scripted"}}, Author: "ann", Reason: "deploy",
		Starts: deskOpens.Add(-time.Hour), Ends: deskOpens.Add(24 * time.Hour)}
	journal := newStageJournal()
	s := restarted(t, deskOpens, journal, long)
	s.script(tierOf("orders", dedup.Severe))
	for range 20 {
		s.tick(t.Context())
	}
	s = restarted(t, s.now, journal, long)
	s.deaf = 2
	s.script(tierOf("orders", dedup.Emergency))
	for range 2 {
		s.tick(t.Context())
		if v := s.View(); !v.At.IsZero() || len(v.Errors) != 1 || !strings.Contains(v.Errors[0], "silences cannot be read") {
			t.Errorf("view of %s, errors %v; want none, and why", v.At, v.Errors)
		}
	}
	for range 20 {
		s.tick(t.Context())
	}
	if got := journal.dueText(); len(got) != 0 {
		t.Errorf("told %q under the silence", got)
	}
	if v := s.View(); v.Worst != dedup.Emergency || len(v.Errors) != 0 {
		t.Errorf("worst %v, errors %v; want that all goes on once they are read", v.Worst, v.Errors)
	}
}
