package dispatch

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// newLateStage has a dispatcher without waits, and a journal that leaves the commit unanswered in which orders fires. The answer comes
// with what it returns.
func newLateStage(t *testing.T, change ...func(*alerts.EngineDeps)) (*stage, func(error)) {
	cfg := Default()
	cfg.Channels, cfg.GroupWait, cfg.GroupInterval = []string{"ops"}, 0, 0
	s := newStage(t, time.Now(), newStageJournal(), New(cfg), change...)
	s.script(tierOf("orders", dedup.Normal), tierOf("emails", dedup.Normal))
	s.tick(t.Context())
	hang := make(chan struct{})
	s.journal.set(func(j *stageJournal) { j.hang = hang })
	s.script(tierOf("orders", dedup.Severe), tierOf("emails", dedup.Normal))
	s.tick(t.Context())
	s.journal.set(func(j *stageJournal) { j.hang = nil })
	return s, func(err error) {
		s.journal.set(func(j *stageJournal) { j.fail = err })
		close(hang)
		synctest.Wait()
		s.journal.set(func(j *stageJournal) { j.fail = nil })
	}
}

func TestACommitWhoseAnswerComesLateIsTakenForWhatItWas(t *testing.T) {
	full := errors.New("disk is full")
	for name, c := range map[string]struct {
		answer error
		// then is what orders and emails are after the answer.
		then  [2]dedup.Tier
		told  []string
		edges int
	}{
		"kept, and over meanwhile":              {nil, [2]dedup.Tier{dedup.Normal, dedup.Normal}, []string{"orders fired", "orders resolved"}, 2},
		"kept, and another one fires with it":   {nil, [2]dedup.Tier{dedup.Severe, dedup.Severe}, []string{"orders fired", "emails fired"}, 2},
		"failed, and over meanwhile":            {full, [2]dedup.Tier{dedup.Normal, dedup.Normal}, nil, 2},
		"failed, and another one fires with it": {full, [2]dedup.Tier{dedup.Severe, dedup.Severe}, []string{"orders fired", "emails fired"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, answer := newLateStage(t)
				answer(c.answer)
				s.script(tierOf("orders", c.then[0]), tierOf("emails", c.then[1]))
				for range 40 {
					s.tick(t.Context())
				}
				if got := s.journal.dueText(); !slices.Equal(got, c.told) {
					t.Errorf("told %q, want %q", got, c.told)
				}
				if len(s.journal.edges) != c.edges || len(s.View().Errors) != 0 {
					t.Errorf("kept %v, want %d edges; errors %v", s.journal.told(), c.edges, s.View().Errors)
				}
			})
		})
	}
}

func TestWhileACommitIsNotAnsweredAlertsGoOnAndNothingIsPlanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due := 0
		s, answer := newLateStage(t, func(d *alerts.EngineDeps) { d.Due = func() { due++ } }) // called once for both
		key := keyOf("orders")
		s.script(tierOf("orders", dedup.Emergency), tierOf("emails", dedup.Normal))
		for range 3 {
			s.tick(t.Context())
			if got := len(s.View().Errors); got != 1 || due != 0 {
				t.Errorf("%d errors, %d times due; want that the page says why nothing is told", got, due)
			}
			err := s.Acknowledge(t.Context(), key, "ada", "", dedup.TierUnknown, time.Now().Add(time.Hour))
			if dedup.KindOf(err) != dedup.Unavailable {
				t.Errorf("acknowledged while nobody knows what is kept: %v", err)
			}
		}
		answer(nil)
		s.tick(t.Context())
		if got := s.journal.told(); len(got) != 2 || got[1] != "orders escalated severe to emergency" {
			t.Errorf("kept %q, want each edge once", got)
		}
		if got := s.journal.dueText(); !slices.Equal(got, []string{"orders fired", "orders escalated"}) || due != 1 {
			t.Errorf("told %q, %d times due", got, due)
		}
	})
}

func TestWhatFiresAndEndsBeforeALateAnswerIsNotInTheHistoryWithoutBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, answer := newLateStage(t)
		s.script(tierOf("orders", dedup.Severe), tierOf("emails", dedup.Severe))
		s.tick(t.Context())
		answer(nil)
		s.script(tierOf("orders", dedup.Severe), tierOf("emails", dedup.Normal))
		for range 40 {
			s.tick(t.Context())
		}
		if told := s.journal.dueText(); !slices.Equal(told, []string{"orders fired"}) || len(s.journal.told()) != 1 {
			t.Errorf("told %v, and the history has %v", told, s.journal.told())
		}
	})
}
