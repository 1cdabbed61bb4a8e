package alerts

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

func TestOnlyASilenceAndAnAcknowledgementChangeWhatIsAttendedNeverTheEdges(t *testing.T) {
	quiet := nightly()
	quiet.Ends = evaluatedAt.Add(24 * time.Hour)
	run := func(silences ...Silence) (*stage, []string) {
		s := newStage(t, evaluatedAt, newStageJournal(), soon(), func(d *EngineDeps) { d.Silences = fixedSilences(silences) })
		for _, tier := range []dedup.Tier{dedup.Normal, dedup.Warning, dedup.Severe, dedup.Normal, dedup.Emergency} {
			s.script(tierOf("orders", tier), tierOf("emails", tier))
			s.tick(t.Context())
		}
		return s, s.journal.told()
	}
	_, loud := run()
	s, silenced := run(quiet)
	if !slices.Equal(loud, silenced) || len(loud) == 0 {
		t.Errorf("with a silence the edges are %v, without %v", silenced, loud)
	}
	a, b := s.alert(t, "orders"), s.alert(t, "emails")
	if !slices.Equal(a.Silences, []string{"s1"}) || len(b.Silences) != 0 || !a.Attended() || b.Attended() {
		t.Errorf("orders is covered by %v, emails by %v", a.Silences, b.Silences)
	}
	if v := s.View(); v.Alerts[0].Key.Subject != "emails" || v.Worst != dedup.Emergency || v.Unattended != dedup.Emergency {
		t.Errorf("worst %v, unattended %v, first %s; want the unattended one first", v.Worst, v.Unattended, v.Alerts[0].Key)
	}
}

type fixedSilences []Silence

func (f fixedSilences) Silences(context.Context) ([]Silence, error) { return f, nil }

type brokenSilences struct{ err error }

func (b *brokenSilences) Silences(context.Context) ([]Silence, error) {
	return []Silence{func() Silence { s := nightly(); s.Ends = evaluatedAt.Add(24 * time.Hour); return s }()}, b.err
}

func TestSilencesThatCannotBeReadStillHold(t *testing.T) {
	source := &brokenSilences{}
	s := newStage(t, evaluatedAt, newStageJournal(), soon(), func(d *EngineDeps) { d.Silences = source })
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	source.err = errors.New("disk I/O error")
	s.tick(t.Context())
	if a := s.alert(t, "orders"); len(a.Silences) != 1 {
		t.Errorf("the silence is forgotten: %v", a.Silences)
	}
	if v := s.View(); len(v.Errors) != 1 || !strings.Contains(v.Errors[0], "still hold") {
		t.Errorf("errors %v", v.Errors)
	}
}

func TestAnAcknowledgementIsKeptAtOnceAndEndsWhenTheTierWorsens(t *testing.T) {
	now := time.Now()
	s := newStage(t, now, newStageJournal(), soon())
	key := rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}
	if err := s.Acknowledge(t.Context(), key, "ada", "", dedup.TierUnknown, now.Add(time.Hour)); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("an alert that there is not: %v", err)
	}
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	s.journal.fail = errors.New("disk I/O error")
	err := s.Acknowledge(t.Context(), key, "ada", "on it", dedup.TierUnknown, now.Add(time.Hour))
	s.journal.fail = nil
	s.tick(t.Context())
	if err == nil || s.alert(t, "orders").Ack != nil || s.journal.alerts[key].Ack != nil {
		t.Errorf("an acknowledgement that was not kept holds: %v, %+v", err, s.alert(t, "orders").Ack)
	}
	if err := s.Acknowledge(t.Context(), key, "ada", "on it", dedup.TierUnknown, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if a := s.alert(t, "orders"); a.Ack == nil || a.Ack.By != "ada" || a.Ack.Tier != dedup.Severe || s.journal.alerts[key].Ack == nil || s.View().Unattended != dedup.Normal {
		t.Fatalf("acknowledged: %+v, kept: %+v, unattended %v", a.Ack, s.journal.alerts[key].Ack, s.View().Unattended)
	}
	s.script(tierOf("orders", dedup.Emergency))
	s.tick(t.Context())
	if a := s.alert(t, "orders"); a.Ack != nil || s.journal.alerts[key].Ack != nil || s.View().Unattended != dedup.Emergency {
		t.Errorf("it still holds at a worse tier: %+v", a.Ack)
	}
	if known := s.planner.known[len(s.planner.known)-1]; len(known) != 1 || known[0].Ack != nil {
		t.Errorf("the plan of the edge saw %+v, want it without the acknowledgement", known)
	}
}

func TestAnAcknowledgementCanBeTakenBack(t *testing.T) {
	now := time.Now()
	s := newStage(t, now, newStageJournal(), soon())
	key := rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: "orders"}
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if err := s.Acknowledge(t.Context(), key, "ada", "on it", dedup.TierUnknown, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Unacknowledge(t.Context(), key, "bob"); err != nil || s.alert(t, "orders").Ack != nil || s.journal.alerts[key].Ack != nil {
		t.Errorf("it still holds: %v", err)
	}
}

func TestASilenceThatWasJustMadeIsShownAtOnce(t *testing.T) {
	silences := &changingSilences{}
	s := newStage(t, time.Now(), newStageJournal(), soon(), func(d *EngineDeps) { d.Silences = silences })
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	fresh := nightly()
	fresh.Starts, fresh.Ends = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	silences.now = []Silence{fresh}
	if err := s.ReloadSilences(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := s.View(); len(v.Silences) != 1 || len(s.alert(t, "orders").Silences) != 1 || v.Unattended != dedup.Normal {
		t.Errorf("silences %v, of the alert %v, unattended %v", v.Silences, s.alert(t, "orders").Silences, v.Unattended)
	}
}

// meddledSilences lets somebody make a silence while the first reading is under way.
type meddledSilences struct {
	engine *Engine
	fresh  Silence
	made   bool
}

func (m *meddledSilences) Silences(ctx context.Context) ([]Silence, error) {
	if m.made {
		return []Silence{m.fresh}, nil
	}
	m.made = true
	return nil, m.engine.ReloadSilences(ctx) // what was read before it was made
}

func TestASilenceThatIsMadeDuringAnEvaluationHolds(t *testing.T) {
	silences := &meddledSilences{fresh: nightly()}
	s := newStage(t, time.Now(), newStageJournal(), soon(), func(d *EngineDeps) { d.Silences = silences })
	silences.engine = s.Engine
	silences.fresh.Starts, silences.fresh.Ends = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if v := s.View(); !silences.made || len(v.Silences) != 1 || len(s.alert(t, "orders").Silences) != 1 {
		t.Errorf("silences %v, of the alert %v; want the one that was made", v.Silences, s.alert(t, "orders").Silences)
	}
	if held := s.planner.silences; len(held) != 1 || held[0].ID != silences.fresh.ID {
		t.Errorf("the plan was made with the silences %v", held)
	}
}

type changingSilences struct{ now []Silence }

func (c *changingSilences) Silences(context.Context) ([]Silence, error) { return c.now, nil }
