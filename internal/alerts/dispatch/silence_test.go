package dispatch

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// silenceOfPipeline covers all alerts of a pipeline for a time.
func silenceOfPipeline(name string, from, to time.Time) alerts.Silence {
	return alerts.Silence{ID: "s-" + name, Matchers: []alerts.Matcher{{Name: "pipeline", Op: alerts.MatchEqual, Value: name}}, Author: "ann", Reason: "deploy", Starts: from, Ends: to}
}

// hushed has an alert of orders that fires since a silence of it of two hours began, and goes on to a time before its end.
func hushed(before time.Duration, change func(*Config)) *desk {
	s := newDesk(change)
	s.hush = []alerts.Silence{silenceOfPipeline("orders", s.at, s.at.Add(2*time.Hour))}
	s.set(duplicatesOf("orders"), dedup.Severe)
	s.during(2*time.Hour - before)
	return s
}

func TestASilenceOfATierCoversTheEndOfWhatWasToldAtIt(t *testing.T) {
	for name, c := range map[string]struct {
		told    dedup.Tier
		covered dedup.Tier
		restart bool
		want    string
	}{
		"of that tier":                      {dedup.Severe, dedup.Severe, false, ""},
		"of that tier, after a restart":     {dedup.Severe, dedup.Severe, true, ""},
		"of another one, and it is told":    {dedup.Severe, dedup.Warning, false, "ops edges, orders resolved normal"},
		"not of one that was never told":    {dedup.Severe, dedup.Emergency, false, "ops edges, orders resolved normal"},
		"of normal, which no alert ends at": {dedup.Severe, dedup.Normal, false, "ops edges, orders resolved normal"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDesk(nil)
			s.set(duplicatesOf("orders"), c.told)
			s.during(20 * time.Minute)
			of := alerts.Matcher{Name: rule.LabelTier, Op: alerts.MatchEqual, Value: c.covered.String()}
			s.hush = []alerts.Silence{{ID: "x", Matchers: []alerts.Matcher{of}, Starts: s.at, Ends: s.at.Add(24 * time.Hour)}}
			s.during(time.Hour)
			s.set(duplicatesOf("orders"), dedup.Normal)
			if c.restart {
				s.plan(15 * time.Second)
				s.d.Restore(slices.Collect(maps.Values(s.d.told)))
			}
			wantTold(t, s.during(20*time.Hour), c.want)
			s.at = s.hush[0].Ends
			if end := s.plan(0); (len(end) == 1) != (c.want == "") {
				t.Errorf("after the silence: %q", toldText(end))
			}
		})
	}
}

func TestPeopleAreRemindedOnceOfASilenceThatKeepsWhatFiresQuiet(t *testing.T) {
	s := newDesk(nil)
	s.hush = []alerts.Silence{silenceOfPipeline("orders", s.at, s.at.Add(2*time.Hour))}
	s.alerts[duplicatesOf("orders")] = alerts.Alert{Words: rule.Words{Title: "Duplicate rate"}}
	s.set(duplicatesOf("orders"), dedup.Severe)
	wantTold(t, s.during(105*time.Minute), "")
	plan := s.during(15 * time.Minute)
	wantTold(t, plan, "ops reminder")
	want := "The silence by ann ends in 15 min, at 2026-11-22 14:00 UTC; 1 alert still fires under it\n" +
		`Told again from then on: Duplicate rate of pipeline orders, severe. It covers pipeline="orders". Its reason: deploy`
	if n := plan[0]; n.Text != want || n.Group != `{silence="s-orders"}` || n.GroupLabels["silence"] != "s-orders" || n.ExternalURL == "" || len(n.ID) != 32 {
		t.Errorf("%+v", n)
	}
	wantTold(t, s.plan(0), "ops edges, orders fired severe")
}

func TestNobodyIsRemindedOfASilence(t *testing.T) {
	orders := duplicatesOf("orders")
	for name, change := range map[string]func(*desk){
		"that keeps nothing quiet": func(s *desk) { s.set(orders, dedup.Normal) },
		"that is short":            func(s *desk) { s.hush[0].Starts = s.hush[0].Ends.Add(-remindLeast + time.Second) },
		"that another one outlives": func(s *desk) {
			s.hush = append(s.hush, alerts.Silence{ID: "x", Matchers: s.hush[0].Matchers, Ends: s.at.Add(time.Hour)})
		},
		"that ends before its time": func(s *desk) { s.hush[0].Ends = s.at; delete(s.alerts, orders) },
		"whose alert is attended to": func(s *desk) {
			a := s.alerts[orders]
			a.Ack = &alerts.Ack{By: "ann", Until: s.at.Add(time.Hour), Tier: dedup.Severe}
			s.alerts[orders] = a
		},
		"whose broker is down": func(s *desk) {
			s.set(rule.Key{Rule: "source_unreachable", Kind: rule.OfBroker, Subject: "main"}, dedup.Severe)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := hushed(20*time.Minute, nil)
			change(s)
			if got := toldText(s.during(20 * time.Minute)); strings.Contains(got, "reminder") {
				t.Error(got)
			}
		})
	}
}

func TestASilenceIsRemindedOfWhereItsAlertsAreTold(t *testing.T) {
	s := hushed(20*time.Minute, func(c *Config) {
		c.Channels = []string{"ops", "pager", "shop"}
		c.Routes = []Route{{Match: map[string]string{"pipeline": "orders"}, Tiers: []dedup.Tier{dedup.Emergency}, Channels: []string{"pager"}}, {Channels: []string{"ops"}}}
	})
	wantTold(t, s.during(10*time.Minute), "ops reminder")
	s.set(duplicatesOf("orders"), dedup.Emergency)
	wantTold(t, s.during(10*time.Minute), "pager reminder")
}

func TestAReminderNamesTheWorstAndCountsTheRest(t *testing.T) {
	s := hushed(10*time.Minute, nil)
	s.d.Restore(nil)
	s.hush[0].Matchers = []alerts.Matcher{{Name: "broker", Op: alerts.MatchEqual, Value: "main"}}
	for _, name := range []string{"a", "b", "c", "worst"} {
		s.set(duplicatesOf(name), dedup.Warning)
	}
	s.set(duplicatesOf("worst"), dedup.Emergency)
	plan := s.plan(0)
	if len(plan) != 1 || !strings.Contains(plan[0].Text, "; 5 alerts still fire under it\n") ||
		!strings.Contains(plan[0].Text, "pipeline worst, emergency; duplicate_rate of pipeline orders, severe; duplicate_rate of pipeline a, warning; 2 more.") {
		t.Errorf("%+v", plan)
	}
}

func TestAReminderThatCouldNotBeKeptIsPlannedAgainAndHasTheSameIDAlsoAfterARestart(t *testing.T) {
	s := hushed(15*time.Minute, nil)
	first := s.plan(15 * time.Second)
	s.d.Undo()
	again := s.plan(15 * time.Second)
	wantTold(t, s.plan(15*time.Second), "")
	s.d.Restore(nil)
	restarted := s.plan(0)
	for _, plan := range [][]alerts.Notification{first, again, restarted} {
		wantTold(t, plan, "ops reminder")
		if plan[0].ID != first[0].ID {
			t.Errorf("the ID %s became %s", first[0].ID, plan[0].ID)
		}
	}
}

func TestRemindersOfSilencesThatAreOverAreForgotten(t *testing.T) {
	s := hushed(15*time.Minute, nil)
	s.during(20 * time.Minute)
	if n := len(s.d.reminded); n != 0 {
		t.Errorf("%d are still remembered", n)
	}
}
