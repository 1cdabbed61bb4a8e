package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

func TestWhatBeganAMinuteApartIsRepeatedInOneMessage(t *testing.T) {
	s := newDesk(nil)
	for i := range 10 {
		s.set(duplicatesOf(fmt.Sprint("p", i)), dedup.Severe)
		s.during(time.Minute)
	}
	for range 3 {
		repeats := s.during(4 * time.Hour)
		if len(repeats) != 1 || len(repeats[0].Alerts) != 10 || !onlyRepeats(repeats[0]) {
			t.Errorf("in 4 h: %s", toldText(repeats))
		}
	}
}

func TestWhatWasToldLatelyIsNotRepeatedAlong(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("old"), dedup.Severe)
	s.during(2 * time.Hour)
	s.set(duplicatesOf("attended"), dedup.Severe)
	s.set(rule.Key{Rule: "stuck_markers", Kind: rule.OfPipeline, Subject: "of another group"}, dedup.Severe)
	s.during(5 * time.Minute)
	a := s.alerts[duplicatesOf("attended")]
	a.Ack = &alerts.Ack{By: "ann", At: s.at, Until: s.at.Add(24 * time.Hour), Tier: dedup.Severe}
	s.alerts[a.Key] = a
	s.set(duplicatesOf("late"), dedup.Severe)
	s.during(time.Minute)
	wantTold(t, s.during(2*time.Hour), "ops edges, old severe")
}

func TestARepeatInADigestTakesNoNameAway(t *testing.T) {
	s := newDesk(nil)
	for i := range 30 {
		s.set(duplicatesOf(fmt.Sprint("p", i)), dedup.Warning)
		s.during(time.Minute)
	}
	s.during(5 * time.Minute)
	if repeats := s.during(4 * time.Hour); len(repeats) != 1 || repeats[0].Kind != alerts.NotifyDigest || repeats[0].LeftOut != 20 {
		t.Fatal(toldText(repeats))
	}
	ends := 0
	for k := range s.alerts {
		s.set(k, dedup.Normal)
		for _, n := range s.during(10 * time.Minute) {
			for _, a := range n.Alerts {
				if a.Edge == alerts.EdgeResolved {
					ends++
				}
			}
		}
	}
	if ends != 30 {
		t.Errorf("%d ends are told of 30 alerts that were told by name", ends)
	}
}

// TestAGroupIsRepeatedNoMoreOftenThanEachHalfOfTheTime holds where nothing begins to be due at once, as when a silence ends.
func TestAGroupIsRepeatedNoMoreOftenThanEachHalfOfTheTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := calmed(drawDay(rt))
		d.hushes = nil
		d.moves = slices.DeleteFunc(d.moves, func(m move) bool { return m.key.Kind == rule.OfBroker || m.tier == dedup.Normal })
		d.cfg.DigestAt, d.cfg.Routes = 0, nil
		plans, _ := d.play(nil, nil)
		last := map[string]int{}
		for tick, plan := range plans {
			for _, n := range plan {
				if n.Kind != alerts.NotifyEdges || !onlyRepeats(n) {
					continue
				}
				group := n.Channel + n.Group
				if before, again := last[group]; again && time.Duration(tick-before)*15*time.Second < d.cfg.Repeat/2 {
					rt.Fatalf("%s is repeated at tick %d and again at %d", group, before, tick)
				}
				last[group] = tick
			}
		}
	})
}
