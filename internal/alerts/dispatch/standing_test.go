package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// newHandover has one channel whose receiver forgets what it is not told again each minute.
func newHandover(change func(*Config)) *desk {
	return newHandoff(func(c *Config) {
		c.Channels = []string{"handoff"}
		c.Standing = map[string]Standing{"handoff": {Every: time.Minute, Believed: 15 * time.Minute}}
		if change != nil {
			change(c)
		}
	})
}

// stands writes down what the last message of a plan says that stands: what fires, and in brackets what has ended.
func stands(plan []alerts.Notification) string {
	var last []string
	for _, n := range plan {
		if n.Kind != alerts.NotifyStanding {
			continue
		}
		last = nil
		for _, a := range n.Alerts {
			text := fmt.Sprint(a.Key.Subject, " ", max(a.Tier, a.Was))
			if !a.Firing {
				text = "(" + text + ")"
			}
			if a.GoesOn > dedup.Normal {
				text += " is " + a.GoesOn.String()
			}
			last = append(last, text)
		}
	}
	return strings.Join(last, ", ")
}

// withoutStanding returns the messages that do not only say what stands.
func withoutStanding(plan []alerts.Notification) []alerts.Notification {
	return slices.DeleteFunc(slices.Clone(plan), func(n alerts.Notification) bool { return n.Kind == alerts.NotifyStanding })
}

func TestAReceiverThatForgetsIsToldEachMinuteAllThatStands(t *testing.T) {
	s := newHandover(nil)
	s.set(duplicatesOf("orders"), dedup.Severe)
	s.set(duplicatesOf("payments"), dedup.Warning)
	s.during(time.Minute) // which fires
	plan := s.during(10 * time.Minute)
	if len(withoutStanding(plan)) != 0 || len(plan) != 10 || stands(plan) != "orders severe, payments warning" {
		t.Errorf("%d times: %s", len(plan), toldText(plan))
	}
	ids := map[string]bool{}
	for _, n := range plan {
		ids[n.ID] = true
		if len(n.Doubts()) != 0 || n.Group == "" {
			t.Errorf("%+v", n)
		}
	}
	if len(ids) != 10 {
		t.Errorf("%d different messages", len(ids))
	}
}

func TestWhatEndedIsToldAgainForAsLongAsItIsBelieved(t *testing.T) {
	s := newHandover(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	orders := duplicatesOf("orders")
	s.set(orders, dedup.Warning)
	s.plan(time.Minute)
	s.set(orders, dedup.Emergency)
	if got := stands(s.plan(time.Minute)); got != "orders emergency, (orders warning) is emergency" {
		t.Errorf("after it got worse: %q", got)
	}
	delete(s.alerts, orders) // its rule left the configuration
	s.edges = append(s.edges, alerts.Transition{
		Edge:      alerts.Edge{From: dedup.Emergency, To: dedup.Normal, At: s.at, Kind: alerts.EdgeResolved},
		Judgement: rule.Judgement{Key: orders, At: s.at, Labels: map[string]string{"pipeline": "orders"}},
	})
	ended := s.at
	plan := s.plan(15 * time.Second)
	if got := stands(plan); got != "(orders emergency), (orders warning)" {
		t.Errorf("after it ended: %q", got)
	}
	plan = s.during(14 * time.Minute)
	one := plan[len(plan)-1].Alerts[0]
	if stands(plan) != "(orders emergency)" || !one.EndsAt.Equal(ended) || one.Labels["pipeline"] != "orders" || one.StartsAt.IsZero() {
		t.Errorf("after 14 minutes: %q, %+v", stands(plan), one)
	}
	s.during(time.Minute)
	wantTold(t, s.during(time.Hour), "")
	if len(s.d.stand.ended) != 0 || len(s.d.over) != 0 {
		t.Errorf("it still knows %v, %v", s.d.stand.ended, s.d.over)
	}
}

func TestWhatFiresAgainHasNotEnded(t *testing.T) {
	s := newHandover(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	for _, tier := range []dedup.Tier{dedup.Warning, dedup.Normal, dedup.Warning} {
		s.set(duplicatesOf("orders"), tier)
		s.plan(time.Minute)
	}
	if got := stands(s.during(2 * time.Minute)); got != "orders warning" {
		t.Error(got)
	}
}

func TestNewsAreFollowedByAllThatStandsSoThatNothingOlderIsSaidAfterThem(t *testing.T) {
	s := newHandover(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	s.set(duplicatesOf("orders"), dedup.Warning)
	wantTold(t, s.plan(15*time.Second), "handoff edges, orders fired warning; handoff standing, orders warning")
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.plan(15*time.Second), "handoff edges, orders resolved normal; handoff standing, orders normal")
}

func TestARestartChangesNothingInWhatStands(t *testing.T) {
	s := newHandover(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	var edges []alerts.Transition
	for _, tier := range []dedup.Tier{dedup.Warning, dedup.Severe, dedup.Normal} {
		s.set(duplicatesOf("orders"), tier)
		s.set(duplicatesOf("payments"), max(tier, dedup.Warning))
		edges = append(edges, s.edges...)
		s.plan(time.Minute)
	}
	want := stands(s.plan(0))
	s.at = s.at.Add(time.Minute)
	if want = stands(s.plan(0)); want != "(orders severe), (orders warning), payments warning, (payments severe) is warning" {
		t.Fatal(want)
	}
	var told []alerts.Sent
	for _, one := range s.d.told {
		told = append(told, one)
	}
	delete(s.alerts, duplicatesOf("orders"))
	restarted := New(s.d.cfg)
	restarted.Restore(told)
	restarted.Recall(edges)
	s.d = restarted
	if got := stands(s.plan(time.Minute)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestARestartTellsAReceiverOfNoEndThatIsNotRoutedToIt(t *testing.T) {
	s := newHandover(func(c *Config) {
		c.GroupWait, c.GroupInterval = 0, 0
		c.Channels = append(c.Channels, "mail")
		c.Routes = []Route{{Match: map[string]string{"pipeline": "payments"}, Channels: []string{"handoff"}}, {Channels: []string{"mail"}}}
	})
	var edges []alerts.Transition
	for _, tier := range []dedup.Tier{dedup.Severe, dedup.Normal} {
		s.set(duplicatesOf("orders"), tier)
		s.set(duplicatesOf("payments"), tier)
		edges = append(edges, s.edges...)
		s.plan(time.Minute)
	}
	s.d = New(s.d.cfg)
	s.d.Recall(edges)
	if got := stands(s.plan(time.Minute)); got != "(payments severe)" {
		t.Errorf("it says that there stands %q", got)
	}
}

func TestWhatWasLostStandsAllTheSameAndSoDoesItsEnd(t *testing.T) {
	s := newHandover(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.d.GaveUp(s.plan(time.Minute)[0])
	if got := stands(s.during(2 * time.Minute)); got != "orders warning" {
		t.Error(got)
	}
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.plan(time.Minute), "handoff edges, orders resolved normal; handoff standing, orders normal")
}

func TestWhatWasLostAndGotBetterDoesNotStandAtItsOldTier(t *testing.T) {
	s := newHandover(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	s.set(duplicatesOf("orders"), dedup.Emergency)
	s.d.GaveUp(s.plan(time.Minute)[0])
	s.set(duplicatesOf("orders"), dedup.Warning)
	if got := stands(s.plan(time.Minute)); got != "orders warning, (orders emergency) is warning" {
		t.Error(got)
	}
}

func TestAPlanThatCouldNotBeKeptLeavesWhatStandsToTheNext(t *testing.T) {
	s := newHandover(func(c *Config) { c.GroupWait, c.GroupInterval = 0, 0 })
	s.set(duplicatesOf("orders"), dedup.Emergency)
	s.plan(2 * time.Minute)
	want := stands(s.plan(0))
	s.d.Undo()
	if got := stands(s.plan(time.Second)); got != want || got != "orders emergency" {
		t.Errorf("told %q, and then %q", want, got)
	}
	s.set(duplicatesOf("orders"), dedup.Normal)
	s.plan(time.Minute)
	s.set(duplicatesOf("orders"), dedup.Emergency)
	s.plan(0)
	s.d.Undo()
	if len(s.d.stand.ended) != 1 {
		t.Errorf("what ended is %v", s.d.stand.ended)
	}
}
