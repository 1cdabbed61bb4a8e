package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

func TestManyAlertsAtOnceAreOneDigest(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupBy = []string{"pipeline"} })
	for i := range 1000 {
		tier := dedup.Warning
		if i%500 == 7 {
			tier = dedup.Emergency
		}
		s.set(duplicatesOf(fmt.Sprintf("p%03d", i)), tier)
		if i == 600 {
			s.plan(15 * time.Second) // the rest follows within the wait
		}
	}
	plan := s.during(time.Minute)
	if len(plan) != 1 || plan[0].Kind != alerts.NotifyDigest || len(plan[0].Alerts) != 10 || plan[0].LeftOut != 990 || plan[0].Alerts[1].Key.Subject != "p507" {
		t.Fatal(toldText(plan))
	}
	wantTold(t, s.during(time.Hour), "")
	for k := range s.alerts {
		s.set(k, dedup.Normal)
	}
	// Nobody read the names of the others.
	ends := s.during(time.Hour)
	for _, n := range ends {
		if len(n.Alerts) != 1 || n.Alerts[0].Edge != alerts.EdgeResolved {
			t.Error(toldText(ends))
		}
	}
	if len(ends) != 10 {
		t.Errorf("%d ends are told", len(ends))
	}
}

func TestOneAlertLessThanADigestIsToldByGroups(t *testing.T) {
	for _, n := range []int{19, 20} {
		s := newDesk(nil)
		for i := range n {
			s.set(duplicatesOf(fmt.Sprint("p", i)), dedup.Warning)
		}
		plan := s.during(time.Minute)
		if len(plan) != 1 || (plan[0].Kind == alerts.NotifyDigest) != (n == 20) {
			t.Errorf("%d: %s", n, toldText(plan))
		}
	}
}

func TestAnAlertThatOnlyADigestCountedIsToldByNameWhenItGetsWorse(t *testing.T) {
	s := newDesk(nil)
	for i := range 30 {
		s.set(duplicatesOf(fmt.Sprintf("p%02d", i)), dedup.Warning)
	}
	s.during(time.Minute)
	s.set(duplicatesOf("p29"), dedup.Severe)
	wantTold(t, s.plan(time.Minute), "ops edges, p29 escalated severe")
	s.set(duplicatesOf("p29"), dedup.Normal)
	wantTold(t, s.during(10*time.Minute), "ops edges, p29 resolved normal")
}

func TestAFlappingAlertIsToldOnceAndItsStateWhenItIsCalm(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	orders := duplicatesOf("orders")
	for i, want := range []string{"ops edges, orders fired warning", "ops edges, orders resolved normal", "ops edges, orders fired warning", "ops flapping, orders normal"} {
		s.set(orders, []dedup.Tier{dedup.Warning, dedup.Normal}[i%2])
		wantTold(t, s.plan(time.Minute), want)
	}
	if since := s.d.Flapping(orders); !since.Equal(deskOpens.Add(3 * time.Minute)) {
		t.Errorf("flapping since %s", since)
	}
	for i := range 9 {
		s.set(orders, []dedup.Tier{dedup.Warning, dedup.Normal}[i%2])
		wantTold(t, s.plan(time.Minute), "")
	}
	s.set(orders, dedup.Severe)
	wantTold(t, s.plan(14*time.Minute), "ops edges, orders fired severe")
	s.set(orders, dedup.Warning)
	wantTold(t, s.during(15*time.Minute), "")
	wantTold(t, s.plan(0), "ops edges, orders deescalated warning")
	if !s.d.Flapping(orders).IsZero() {
		t.Error("it still flaps")
	}
}

func TestARiseThroughAllTiersAndBackIsNoFlapping(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	var kinds []string
	for _, tier := range []dedup.Tier{dedup.Warning, dedup.Severe, dedup.Emergency, dedup.Severe, dedup.Warning, dedup.Normal} {
		s.set(duplicatesOf("orders"), tier)
		for _, n := range s.plan(time.Minute) {
			kinds = append(kinds, string(n.Alerts[0].Edge))
		}
	}
	if got := strings.Join(kinds, " "); got != "fired escalated escalated deescalated deescalated resolved" {
		t.Error(got)
	}
}

func TestFlappingGoesOnAfterARestart(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	var edges []alerts.Transition
	var log []alerts.Sent
	for i := range 6 {
		s.set(duplicatesOf("orders"), []dedup.Tier{dedup.Warning, dedup.Normal}[i%2])
		edges = append(edges, s.edges...)
		s.plan(time.Minute)
		log = append(log, s.d.Sent()...)
	}
	a := s.alerts[duplicatesOf("orders")]
	a.Flapping = s.d.Flapping(a.Key)
	s.alerts[a.Key] = a
	s.d.Restore(log[len(log)-1:])
	s.d.Recall(edges[4:])
	s.set(duplicatesOf("orders"), dedup.Warning)
	wantTold(t, s.plan(0), "")
}

func TestFlappingThatNoChannelWasToldOfGoesOnAfterARestart(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupWait = 0 })
	orders := duplicatesOf("orders")
	s.hush = []alerts.Silence{silenceOfPipeline("orders", deskOpens, deskOpens.Add(25*time.Minute))}
	var late []alerts.Transition
	for i, wait := range []time.Duration{time.Minute, time.Minute, time.Minute, 7 * time.Minute, 10 * time.Minute, 5 * time.Minute} {
		s.set(orders, []dedup.Tier{dedup.Warning, dedup.Normal}[i%2])
		if i >= 4 {
			late = append(late, s.edges...)
		}
		wantTold(t, s.plan(wait), "")
	}
	a := s.alerts[orders]
	a.Flapping = s.d.Flapping(orders)
	s.alerts[orders] = a
	s.d.Restore(nil)
	s.d.Recall(late)
	wantTold(t, s.plan(0), "ops flapping, orders normal")
}

func TestTheWatchdogGoesToChannelsThatAskForIt(t *testing.T) {
	s := newDesk(func(c *Config) {
		c.Channels = []string{"ops", "deadman"}
		c.Routes = []Route{{Match: map[string]string{"rule": "watchdog"}, Channels: []string{"deadman"}}, {Channels: []string{"ops"}}}
	})
	s.set(rule.Key{Rule: "watchdog", Kind: rule.OfDashboard}, dedup.Warning)
	wantTold(t, s.during(2*time.Minute), "deadman watchdog; deadman watchdog")
	for _, n := range s.plan(0) {
		if n.Group != `{rule="watchdog"}` { // without one it would hold up every other
			t.Errorf("of the group %q", n.Group)
		}
	}
	s = newDesk(nil)
	s.set(rule.Key{Rule: "watchdog", Kind: rule.OfDashboard}, dedup.Warning)
	wantTold(t, s.during(time.Hour), "")
}

func TestAMessageSaysWhatThePageSays(t *testing.T) {
	s := newDesk(func(c *Config) {
		c.RunbookLink = func(runbook string) string { return "https://runbook.example/" + runbook }
	})
	s.set(duplicatesOf("or&ders"), dedup.Severe)
	a := s.alerts[duplicatesOf("or&ders")]
	a.Cause, a.Words = "A producer sends twice.", rule.Words{Title: "Duplicate rate", Step: "Look at the producers.", Runbook: "duplicates"}
	s.alerts[a.Key] = a
	s.plan(30 * time.Second)
	n := s.plan(0)[0]
	got := n.Alerts[0]
	if got.Title != "Duplicate rate" || got.Step != "Look at the producers." || got.Runbook != "https://runbook.example/duplicates" ||
		got.Why != a.Last.Why || got.Value != 0.05 || got.Limit != 0.03 || got.N != 1000 || got.Window != 15*time.Minute || got.Cause != a.Cause ||
		got.Labels["broker"] != "main" || got.Link != "https://dash.example/alerts/one?key=duplicate_rate%2Fpipeline%2For%26ders" || !got.Firing || got.Stale {
		t.Errorf("%+v", got)
	}
	if n.Group != `{broker="main",rule="duplicate_rate"}` || n.GroupLabels["rule"] != "duplicate_rate" || n.ExternalURL != "https://dash.example" || len(n.ID) != 32 {
		t.Errorf("%+v", n)
	}
}

func TestAnAlertThatCannotBeReadNowIsToldAsStaleWithItsLastFigures(t *testing.T) {
	s := newDesk(func(c *Config) { c.Repeat = time.Minute })
	s.set(duplicatesOf("orders"), dedup.Severe)
	s.during(31 * time.Second)
	a := s.alerts[duplicatesOf("orders")]
	a.Last = rule.Judgement{Key: a.Key, At: s.at, Health: rule.HealthError, Why: "the store cannot be read"}
	s.alerts[a.Key] = a
	plan := s.during(time.Minute)
	wantTold(t, plan, "ops edges, orders severe stale")
	if got := plan[0].Alerts[0]; got.Why != a.LastOK.Why || got.Value != 0.05 || got.Labels["pipeline"] != "orders" {
		t.Errorf("%+v", got)
	}
}

func TestAConfigurationThatCannotWorkSaysWhyByItsKeys(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"a channel that is not there": {func(c *Config) { c.Routes = []Route{{}, {Channels: []string{"ops", "pager"}}} }, `routes[1].channels: there is no channel "pager"; name one of ops`},
		"no channel at all":           {func(c *Config) { c.Channels, c.Routes = nil, []Route{{Channels: []string{"ops"}}} }, `routes[0].channels: there is no channel "ops"; none is configured`},
		"a tier that is none":         {func(c *Config) { c.Routes = []Route{{Tiers: []dedup.Tier{dedup.Normal}}} }, `routes[0].tiers: an alert has no tier "normal"; name warning, severe or emergency`},
		"all that is negative": {
			func(c *Config) {
				c.GroupWait, c.GroupInterval, c.Repeat, c.DigestAt = -1, -time.Second, -time.Hour, -5
			},
			"group.wait: must not be negative, but is -1ns\ngroup.interval: must not be negative, but is -1s\ngroup.repeat: must not be negative, but is -1h0m0s\n" +
				"group.digest_at: must not be negative, but is -5; 0 means that there are no digests",
		},
		"all right": {func(*Config) {}, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Default()
			cfg.Channels = []string{"ops"}
			c.change(&cfg)
			if got := fmt.Sprint(cfg.Validate()); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestWhatFiresSeverelyWaitsForOthersAndNotForTheIntervalOfItsGroup(t *testing.T) {
	for tier, most := range map[dedup.Tier]time.Duration{dedup.Warning: 5 * time.Minute, dedup.Severe: time.Minute, dedup.Emergency: time.Minute} {
		s := newDesk(nil)
		s.set(duplicatesOf("orders"), dedup.Severe)
		s.during(time.Minute) // told, so that the interval of the group runs
		s.set(duplicatesOf("payments"), tier)
		began := s.at
		for len(s.plan(15*time.Second)) == 0 && s.at.Sub(began) < time.Hour {
		}
		if waited := s.at.Sub(began); waited < 30*time.Second || waited > most || tier == dedup.Warning && waited < 4*time.Minute {
			t.Errorf("%s was told after %s", tier, waited)
		}
	}
}

func TestABrokerThatAnswersAgainInhibitsNothingAlthoughItsAlertStillFires(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupBy = nil })
	down := rule.Key{Rule: "source_unreachable", Kind: rule.OfBroker, Subject: "main"}
	s.set(down, dedup.Severe)
	s.during(time.Minute)
	s.set(duplicatesOf("orders"), dedup.Severe)
	wantTold(t, s.during(time.Minute), "")
	a := s.alerts[down]
	a.State.Phase = alerts.PhaseRecovering
	s.alerts[down] = a
	wantTold(t, s.during(time.Minute), "ops edges, orders fired severe")
}

func TestABrokerThatIsAWarningInhibitsNothingThatIsWorse(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupBy = nil })
	s.set(rule.Key{Rule: "source_unreachable", Kind: rule.OfBroker, Subject: "main"}, dedup.Warning)
	s.set(duplicatesOf("orders"), dedup.Severe)
	s.set(duplicatesOf("payments"), dedup.Warning)
	wantTold(t, s.during(time.Minute), "ops edges, orders fired severe, main fired warning")
}
