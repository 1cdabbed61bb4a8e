package alerts

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// restarted is a stage with a dispatcher that knows what the journal has.
func restarted(t *testing.T, now time.Time, journal *stageJournal, silences silencer) *stage {
	told := map[sentKey]Sent{}
	var log []Sent
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
	cfg := DefaultDispatch()
	cfg.Channels = []string{"ops"}
	d := NewDispatcher(cfg)
	d.Restore(log)
	d.Recall(journal.edges)
	return newStage(t, now, journal, soon(), func(deps *EngineDeps) { deps.Planner, deps.Silences = d, silences })
}

func TestTheEndOfAnAlertThatLeftTheConfigurationIsToldHoweverOftenTheDashboardIsRestarted(t *testing.T) {
	long := Silence{ID: "s", Matchers: []Matcher{{Name: LabelRule, Op: MatchEqual, Value: "scripted"}}, Author: "ann", Reason: "deploy",
		Starts: evaluatedAt.Add(3 * time.Minute), Ends: evaluatedAt.Add(time.Hour)}
	for name, c := range map[string]struct {
		silences fixedSilences
		restarts int
	}{
		"once":                   {nil, 1},
		"twice in the interval":  {nil, 2},
		"thrice in the interval": {nil, 3},
		"twice in a silence":     {fixedSilences{long}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			journal := newStageJournal()
			s := restarted(t, evaluatedAt, journal, c.silences)
			s.script(tierOf("orders", dedup.Severe))
			for range 8 {
				s.tick(t.Context())
			}
			for range c.restarts {
				s = restarted(t, s.now, journal, c.silences)
				s.snapshots.snap = watching("emails")
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
			if len(s.alerts) != 0 {
				t.Errorf("%d alerts are still known", len(s.alerts))
			}
		})
	}
}

// deafSilences cannot be read at first.
type deafSilences struct {
	fixedSilences
	fails int
}

func (d *deafSilences) Silences(ctx context.Context) ([]Silence, error) {
	if d.fails--; d.fails >= 0 {
		return nil, errors.New("database is locked")
	}
	return d.fixedSilences.Silences(ctx)
}

func TestNothingIsToldAfterAStartBeforeSilencesWereRead(t *testing.T) {
	long := Silence{ID: "s", Matchers: []Matcher{{Name: LabelRule, Op: MatchEqual, Value: "scripted"}}, Author: "ann", Reason: "deploy",
		Starts: evaluatedAt.Add(-time.Hour), Ends: evaluatedAt.Add(24 * time.Hour)}
	source := &deafSilences{fixedSilences: fixedSilences{long}}
	journal := newStageJournal()
	s := restarted(t, evaluatedAt, journal, source)
	s.script(tierOf("orders", dedup.Severe))
	for range 20 {
		s.tick(t.Context())
	}
	source.fails = 2
	s = restarted(t, s.now, journal, source)
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
