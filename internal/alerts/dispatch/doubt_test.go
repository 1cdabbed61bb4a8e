package dispatch

import (
	"fmt"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// givesUp makes the outbox give messages up.
func (s *desk) givesUp(plan []alerts.Notification, mayHaveArrived bool) {
	for _, n := range plan {
		n.Repeated = mayHaveArrived
		s.d.GaveUp(n)
	}
}

func TestWhatWasGivenUpIsToldAgainAsFiredAndSeldom(t *testing.T) {
	for name, c := range map[string]struct {
		repeat, late, within time.Duration
		want                 string
	}{
		"not before a repeat is due":         {4 * time.Hour, 0, 4*time.Hour - time.Minute, ""},
		"when a repeat is due":               {4 * time.Hour, 0, 4*time.Hour + time.Minute, "ops edges, orders fired warning"},
		"not at once where nothing repeats":  {0, 0, 59 * time.Minute, ""},
		"after an hour where nothing does":   {0, 0, 61 * time.Minute, "ops edges, orders fired warning"},
		"at once when it took a day to fail": {0, 24 * time.Hour, time.Minute, "ops edges, orders fired warning"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDesk(func(c2 *Config) { c2.Repeat = c.repeat })
			s.set(duplicatesOf("orders"), dedup.Warning)
			plan := s.during(45 * time.Second)
			wantTold(t, plan, "ops edges, orders fired warning")
			s.during(c.late)
			s.givesUp(plan, false)
			wantTold(t, s.during(c.within), c.want)
		})
	}
}

func TestWhatWasGivenUpAndGetsWorseIsToldAtOnceAsFired(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.givesUp(s.during(45*time.Second), false)
	s.set(duplicatesOf("orders"), dedup.Severe)
	plan := s.during(time.Minute)
	wantTold(t, plan, "ops edges, orders fired severe")
	if was := plan[0].Alerts[0].Was; was != dedup.Normal {
		t.Errorf("it was %s", was)
	}
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.during(10*time.Minute), "ops edges, orders resolved normal")
}

func TestTheEndOfWhatNobodyWasToldIsNotTold(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.givesUp(s.during(45*time.Second), false)
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.during(10*time.Minute), "")
	if len(s.d.told) != 0 {
		t.Errorf("%+v are still remembered", s.d.told)
	}
	s.set(duplicatesOf("orders"), dedup.Warning)
	wantTold(t, s.during(time.Minute), "ops edges, orders fired warning")
}

func TestAChangeThatWasGivenUpIsMadeUpForByOneRepeat(t *testing.T) {
	s := newDesk(func(c *Config) { c.Repeat = 0 })
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(6 * time.Minute)
	s.set(duplicatesOf("orders"), dedup.Severe)
	s.givesUp(s.during(time.Minute), false)
	wantTold(t, s.during(3*time.Hour), "ops edges, orders severe")
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.during(time.Minute), "ops edges, orders resolved normal")
}

func TestWhatMayHaveArrivedIsRepeatedOnceAndNeverToldAsNewAgain(t *testing.T) {
	s := newDesk(func(c *Config) { c.Repeat = 0 })
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.givesUp(s.during(45*time.Second), true)
	wantTold(t, s.during(24*time.Hour), "ops edges, orders warning")
	// As a start finds it that was the second in the same place.
	sent := s.d.told[sentKey{"ops", duplicatesOf("orders")}]
	sent.At, sent.Doubt = sent.At.Add(-30*24*time.Hour), alerts.Unsure
	s.d.Restore([]alerts.Sent{sent})
	wantTold(t, s.during(24*time.Hour), "ops edges, orders warning")
}

func TestAlertsThatALostDigestOnlyCountedAreToldAgain(t *testing.T) {
	s := newDesk(func(c *Config) { c.Repeat = 0 })
	for i := range 30 {
		s.set(duplicatesOf(fmt.Sprintf("p%02d", i)), dedup.Warning)
	}
	plan := s.during(time.Minute)
	if len(plan) != 1 || len(plan[0].Counted) != 20 || plan[0].LeftOut != 20 {
		t.Fatal(toldText(plan))
	}
	s.givesUp(plan, false)
	for i := range 25 { // five are left of those that the digest only counted
		s.set(duplicatesOf(fmt.Sprintf("p%02d", i)), dedup.Normal)
	}
	wantTold(t, s.during(2*time.Hour),
		"ops edges, p25 fired warning, p26 fired warning, p27 fired warning, p28 fired warning, p29 fired warning")
}

func TestWhatALaterMessageToldIsNotInDoubt(t *testing.T) {
	s := newDesk(func(c *Config) { c.Repeat = 0 })
	s.set(duplicatesOf("orders"), dedup.Warning)
	first := s.during(time.Minute)
	s.set(duplicatesOf("orders"), dedup.Severe)
	s.during(time.Minute)
	s.givesUp(first, false)
	wantTold(t, s.during(3*time.Hour), "")
}

func TestAnAcknowledgedAlertThatWasGivenUpIsLeftAlone(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.givesUp(s.during(time.Minute), false)
	a := s.alerts[duplicatesOf("orders")]
	a.Ack = &alerts.Ack{By: "ann", At: s.at, Until: s.at.Add(48 * time.Hour), Tier: dedup.Warning}
	s.alerts[a.Key] = a
	wantTold(t, s.during(24*time.Hour), "")
}

func TestAPlanThatCouldNotBeKeptForgetsNoDoubt(t *testing.T) {
	s := newDesk(func(c *Config) { c.Repeat = 0 })
	s.set(duplicatesOf("orders"), dedup.Warning)
	plan := s.during(45 * time.Second)
	s.at = s.at.Add(2 * time.Hour)
	s.givesUp(plan, false)
	again := s.plan(15 * time.Second)
	s.d.Undo()
	more := s.plan(0)
	wantTold(t, more, "ops edges, orders fired warning")
	if len(again) != 1 || again[0].ID != more[0].ID || again[0].ID == plan[0].ID {
		t.Errorf("%s, then %s, then %s", toldText(plan), toldText(again), toldText(more))
	}
}

func TestAChannelThatRefusesForGoodGetsNoMoreThanOneMessageInEachRepeat(t *testing.T) {
	for repeat, most := range map[time.Duration]int{0: 24, 4 * time.Hour: 6, time.Hour: 24} {
		s := newDesk(func(c *Config) { c.Repeat, c.GroupWait, c.GroupInterval = repeat, 0, 0 })
		s.set(duplicatesOf("orders"), dedup.Severe)
		messages := 0
		for range 24 * 60 * 4 {
			plan := s.plan(15 * time.Second)
			messages += len(plan)
			s.givesUp(plan, false)
		}
		if messages > most || messages < most-1 {
			t.Errorf("repeat %s: %d messages in a day, want %d", repeat, messages, most)
		}
	}
}

func TestEveryChangeHasAStanceWhateverTheChannelHears(t *testing.T) {
	for m, row := range stances() {
		for c, do := range row {
			if do == 0 {
				t.Errorf("manner %d, change %d: none", m, c)
			}
		}
	}
}
