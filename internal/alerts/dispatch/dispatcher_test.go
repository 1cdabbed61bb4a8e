package dispatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// deskOpens is when the scenes of dispatching begin.
var deskOpens = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A desk plays alerts to a dispatcher.
type desk struct {
	d      *Dispatcher
	at     time.Time
	alerts map[rule.Key]alerts.Alert
	edges  []alerts.Transition
	hush   []alerts.Silence
}

// newDesk has one channel, ops, unless the configuration names others.
func newDesk(change func(*Config)) *desk {
	cfg := Default()
	cfg.Channels, cfg.ExternalURL = []string{"ops"}, "https://dash.example/"
	if change != nil {
		change(&cfg)
	}
	return &desk{d: New(cfg), at: deskOpens, alerts: map[rule.Key]alerts.Alert{}}
}

func duplicatesOf(name string) rule.Key {
	return rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: name}
}

// set gives an alert a tier, with the edge of the change.
func (s *desk) set(k rule.Key, tier dedup.Tier) {
	a := s.alerts[k]
	from := firingTier(a.State)
	a.Key = k
	labels := map[string]string{"broker": "main", string(k.Kind): k.Subject}
	a.Last = rule.Judgement{Key: k, At: s.at, Labels: labels, Enters: tier, Holds: tier, Value: 0.05, Limit: 0.03, Unit: dedup.Ratio, N: 1000, Window: 15 * time.Minute, Why: "5.00 % ≥ severe 3 %"}
	a.LastOK = a.Last
	if tier == from {
		s.alerts[k] = a
		return
	}
	edge := alerts.Edge{From: from, To: tier, At: s.at, Kind: alerts.EdgeEscalated}
	switch {
	case from == dedup.Normal:
		edge.Kind, a.State.FiredAt = alerts.EdgeFired, s.at
	case tier == dedup.Normal:
		edge.Kind, a.State.FiredAt = alerts.EdgeResolved, time.Time{}
	case tier < from:
		edge.Kind = alerts.EdgeDeescalated
	}
	a.State.Phase, a.State.Tier, a.State.Since = alerts.PhaseFiring, tier, s.at
	if a.State.TierSince = s.at; tier == dedup.Normal {
		a.State.Phase, a.State.TierSince = alerts.PhaseNormal, time.Time{}
	}
	s.alerts[k] = a
	s.edges = append(s.edges, alerts.Transition{Edge: edge, Judgement: a.Last})
}

// plan plans now and goes on by a time.
func (s *desk) plan(after time.Duration) []alerts.Notification {
	plan := s.d.Plan(s.at, slices.Collect(maps.Values(s.alerts)), s.edges, s.hush)
	s.edges = nil
	s.at = s.at.Add(after)
	return plan
}

// during plans every fifteen seconds for a time and returns all that was told.
func (s *desk) during(span time.Duration) []alerts.Notification {
	var all []alerts.Notification
	for end := s.at.Add(span); s.at.Before(end); {
		all = append(all, s.plan(15*time.Second)...)
	}
	return all
}

// toldText writes notifications down in short.
func toldText(plan []alerts.Notification) string {
	var lines []string
	for _, n := range plan {
		line := n.Channel + " " + string(n.Kind)
		for _, a := range n.Alerts {
			line += fmt.Sprintf(", %s %s %s", a.Key.Subject, strings.TrimSpace(string(a.Edge)+" "+a.Tier.String()), strings.Join(staleMark(a), " "))
			line = strings.TrimRight(line, " ")
		}
		if n.LeftOut > 0 {
			line += fmt.Sprintf(" and %d more", n.LeftOut)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func staleMark(a alerts.NotifiedAlert) []string {
	if a.Stale {
		return []string{"stale"}
	}
	return nil
}

func wantTold(t *testing.T, plan []alerts.Notification, want string) {
	t.Helper()
	if got := toldText(plan); got != want {
		t.Errorf("told:\n%s\nwant:\n%s", got, want)
	}
}

func TestANewAlertWaitsForOthersOfItsGroupAndIsToldOnceWithThem(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	wantTold(t, s.plan(20*time.Second), "")
	s.set(duplicatesOf("payments"), dedup.Severe)
	wantTold(t, s.plan(10*time.Second), "")
	wantTold(t, s.plan(time.Second), "ops edges, payments fired severe, orders fired warning")
	wantTold(t, s.during(time.Hour), "")
}

func TestAFollowingMessageOfAGroupKeepsTheInterval(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Severe)
	s.during(31 * time.Second)
	toldAt := s.at.Add(-15 * time.Second)
	s.set(duplicatesOf("orders"), dedup.Warning)
	for len(s.plan(0)) == 0 {
		s.at = s.at.Add(time.Second)
	}
	if waited := s.at.Sub(toldAt); waited != 5*time.Minute {
		t.Errorf("waited for %s", waited)
	}
}

func TestAnEscalationGoesOutAtOnce(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(31 * time.Second)
	s.set(duplicatesOf("orders"), dedup.Severe)
	wantTold(t, s.plan(time.Second), "ops edges, orders escalated severe")
	s.set(duplicatesOf("orders"), dedup.Emergency)
	wantTold(t, s.plan(0), "ops edges, orders escalated emergency")
}

func TestAnAlertThatBecomesAnEmergencyBeforeItIsToldWaitsNoMore(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	wantTold(t, s.plan(time.Second), "")
	s.set(duplicatesOf("orders"), dedup.Severe)
	wantTold(t, s.plan(time.Second), "")
	s.set(duplicatesOf("orders"), dedup.Emergency)
	wantTold(t, s.plan(0), "ops edges, orders fired emergency")
}

func TestAMessageSaysWhenTheTroubleBeganWhatIsReachedAndWhatIsMissing(t *testing.T) {
	s := newDesk(nil)
	k, began := duplicatesOf("orders"), s.at.Add(-2*time.Minute)
	s.set(k, dedup.Warning)
	a := s.alerts[k]
	a.State.Reached[0], a.Last.Enters, a.LastOK = began, dedup.Severe, a.Last
	a.LastOK.Enters, a.Last.Health, a.Last.Why = dedup.Severe, rule.HealthNoData, "store orders cannot be read"
	s.alerts[k] = a
	told := s.during(time.Minute)[0].Alerts[0]
	if !told.Began.Equal(began) || told.Reached != dedup.Severe || !told.Stale || told.Missing != "store orders cannot be read" || told.Why != a.LastOK.Why {
		t.Errorf("told %+v", told)
	}
}

func TestWhatStillFiresIsRepeatedUnlessSomebodyAcknowledgedIt(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.set(duplicatesOf("payments"), dedup.Warning)
	s.during(31 * time.Second)
	a := s.alerts[duplicatesOf("payments")]
	a.Ack = &alerts.Ack{By: "ann", At: s.at, Until: s.at.Add(5*time.Hour + 30*time.Minute), Tier: dedup.Warning}
	s.alerts[a.Key] = a
	wantTold(t, s.during(5*time.Hour), "ops edges, orders warning")
	// The acknowledgement ends by itself, and orders was told less than half a repeat ago.
	wantTold(t, s.during(2*time.Hour), "ops edges, payments warning")
}

func TestAnAcknowledgementThatDoesNotHoldKeepsNothingQuiet(t *testing.T) {
	for name, ack := range map[string]alerts.Ack{
		"of a better tier": {By: "ann", At: deskOpens, Until: deskOpens.Add(24 * time.Hour), Tier: dedup.Warning},
		"that is over":     {By: "ann", At: deskOpens, Until: deskOpens.Add(time.Hour), Tier: dedup.Severe},
		"without an end":   {By: "ann", At: deskOpens, Tier: dedup.Severe},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDesk(nil)
			s.set(duplicatesOf("orders"), dedup.Severe)
			s.during(time.Minute)
			a := s.alerts[duplicatesOf("orders")]
			a.Ack = &ack
			s.alerts[a.Key] = a
			wantTold(t, s.during(5*time.Hour), "ops edges, orders severe")
		})
	}
}

func TestAnAcknowledgedAlertIsToldAsResolved(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(6 * time.Minute)
	a := s.alerts[duplicatesOf("orders")]
	a.Ack = &alerts.Ack{By: "ann", At: s.at, Until: s.at.Add(time.Hour), Tier: dedup.Warning}
	s.alerts[a.Key] = a
	s.set(a.Key, dedup.Normal)
	wantTold(t, s.plan(0), "ops edges, orders resolved normal")
}

func TestResolvedIsToldOnlyWhereFiringWas(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.plan(10 * time.Second)
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.during(time.Hour), "")
}

func TestAResolvedAlertSaysWhenItBeganAndEnded(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(6 * time.Minute)
	ended := s.at
	s.set(duplicatesOf("orders"), dedup.Normal)
	plan := s.plan(0)
	if len(plan) != 1 || len(plan[0].Alerts) != 1 {
		t.Fatal(toldText(plan))
	}
	if a := plan[0].Alerts[0]; a.Firing || !a.StartsAt.Equal(deskOpens) || !a.EndsAt.Equal(ended) || a.Was != dedup.Warning {
		t.Errorf("%+v", a)
	}
}

func TestAnAlertThatEscalatedSaysSinceWhenItIsAtItsTier(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	plan := s.plan(10 * time.Second)
	plan = append(plan, s.during(6*time.Minute)...)
	if len(plan) != 1 || !plan[0].Alerts[0].TierSince.IsZero() {
		t.Fatalf("fired: %s", toldText(plan))
	}
	worse := s.at
	s.set(duplicatesOf("orders"), dedup.Emergency)
	plan = s.during(6 * time.Minute)
	if len(plan) != 1 || !plan[0].Alerts[0].StartsAt.Equal(deskOpens) || !plan[0].Alerts[0].TierSince.Equal(worse) {
		t.Fatalf("escalated: %s %+v", toldText(plan), plan)
	}
}

func TestASilenceHoldsMessagesBackAndTheyAreMadeUpForWhenItEnds(t *testing.T) {
	s := newDesk(nil)
	s.hush = []alerts.Silence{silenceOfPipeline("orders", deskOpens, deskOpens.Add(time.Hour))}
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.set(duplicatesOf("payments"), dedup.Warning)
	wantTold(t, s.during(time.Hour), "ops edges, payments fired warning; ops reminder")
	wantTold(t, s.plan(0), "ops edges, orders fired warning")
}

func TestWhatIsOverBeforeItsSilenceEndsIsNeverTold(t *testing.T) {
	s := newDesk(nil)
	s.hush = []alerts.Silence{silenceOfPipeline("orders", deskOpens, deskOpens.Add(time.Hour))}
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(30 * time.Minute)
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.during(2*time.Hour), "")
}

func TestTheEndOfAnAlertThatWasToldIsToldAfterTheSilence(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(10 * time.Minute)
	s.hush = []alerts.Silence{silenceOfPipeline("orders", s.at, s.at.Add(time.Hour))}
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.during(time.Hour), "")
	wantTold(t, s.plan(0), "ops edges, orders resolved normal")
}

func TestABrokerThatIsDownInhibitsItsPipelinesButNotWhatTheyLostBefore(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupBy = nil })
	lost := rule.Key{Rule: "lost_messages", Kind: rule.OfPipeline, Subject: "orders"}
	down := rule.Key{Rule: "source_unreachable", Kind: rule.OfBroker, Subject: "main"}
	s.set(lost, dedup.Severe)
	s.at = s.at.Add(time.Second)
	s.set(down, dedup.Severe)
	s.set(duplicatesOf("payments"), dedup.Warning)
	s.set(rule.Key{Rule: "lost_messages", Kind: rule.OfPipeline, Subject: "late"}, dedup.Severe)
	wantTold(t, s.during(time.Minute), "ops edges, orders fired severe, main fired severe")
	s.set(down, dedup.Normal)
	wantTold(t, s.during(10*time.Minute), "ops edges, late fired severe, payments fired warning, main resolved normal")
}

func TestRoutesSendAlertsToTheirChannels(t *testing.T) {
	routes := []Route{
		{Match: map[string]string{"pipeline": "orders"}, Channels: []string{"shop"}, Continue: true},
		{Tiers: []dedup.Tier{dedup.Emergency}, Channels: []string{"pager"}},
		{Match: map[string]string{"rule": "muted"}},
		{Match: map[string]string{"pipeline": "orders"}, Channels: []string{"ops"}},
	}
	for name, c := range map[string]struct {
		key  rule.Key
		tier dedup.Tier
		want string
	}{
		"the first that matches":             {duplicatesOf("payments"), dedup.Emergency, "pager"},
		"and further ones where one says so": {duplicatesOf("orders"), dedup.Warning, "ops shop"},
		"nobody where a route has none":      {rule.Key{Rule: "muted", Kind: rule.OfPipeline, Subject: "payments"}, dedup.Severe, ""},
		"all where none matches":             {duplicatesOf("payments"), dedup.Severe, "ops pager shop"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDesk(func(cfg *Config) { cfg.Channels, cfg.Routes = []string{"shop", "pager", "ops"}, routes })
			s.set(c.key, c.tier)
			var channels []string
			for _, n := range s.during(time.Minute) {
				channels = append(channels, n.Channel)
			}
			if got := strings.Join(channels, " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestAChannelThatWasToldHearsOfTheEndWhereverTheAlertIsRoutedThen(t *testing.T) {
	s := newDesk(func(c *Config) {
		c.Channels = []string{"ops", "pager"}
		c.Routes = []Route{{Tiers: []dedup.Tier{dedup.Emergency}, Channels: []string{"pager"}}, {Channels: []string{"ops"}}}
	})
	s.set(duplicatesOf("orders"), dedup.Emergency)
	wantTold(t, s.during(10*time.Minute), "pager edges, orders fired emergency")
	s.set(duplicatesOf("orders"), dedup.Warning)
	wantTold(t, s.during(time.Minute), "ops edges, orders fired warning; pager edges, orders deescalated warning")
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.during(10*time.Minute), "ops edges, orders resolved normal; pager edges, orders resolved normal")
}

func TestAPlanThatCouldNotBeKeptIsMadeAgain(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupWait = 0 })
	s.set(duplicatesOf("orders"), dedup.Warning)
	edges := s.edges
	first := s.plan(15 * time.Second)
	s.d.Undo()
	s.edges = edges
	again := s.plan(0)
	if len(first) != 1 || len(again) != 1 || first[0].ID != again[0].ID {
		t.Errorf("%s, then %s", toldText(first), toldText(again))
	}
	wantTold(t, s.plan(0), "")
}

func TestEveryMessageHasAnIDOfItsOwn(t *testing.T) {
	s := newDesk(func(c *Config) { c.GroupWait, c.GroupInterval, c.Repeat = 0, 0, time.Minute })
	seen := map[string]bool{}
	for i := range 200 {
		s.set(duplicatesOf("orders"), []dedup.Tier{dedup.Warning, dedup.Normal, dedup.Warning, dedup.Warning, dedup.Severe}[i%5])
		for _, n := range append(s.plan(time.Minute), s.plan(20*time.Minute)...) {
			if seen[n.ID] {
				t.Errorf("again: %s", toldText([]alerts.Notification{n}))
			}
			seen[n.ID] = true
		}
	}
	if len(seen) < 200 {
		t.Errorf("only %d messages", len(seen))
	}
}

func TestAClockThatWasSetBackHoldsNothingUp(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Severe)
	s.during(31 * time.Second)
	s.at = s.at.Add(-time.Hour)
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.plan(0), "ops edges, orders resolved normal")
}

func TestAnAlertThatIsGoneWhenItsEndComesIsToldAllTheSame(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(time.Minute)
	s.set(duplicatesOf("orders"), dedup.Normal)
	clear(s.alerts)
	wantTold(t, s.during(10*time.Minute), "ops edges, orders resolved normal")
	if len(s.d.over) != 0 {
		t.Errorf("%d are still remembered", len(s.d.over))
	}
}

func TestAnAlertThatIsForgottenBeforeItsEndIsToldIsRemembered(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(time.Minute)
	s.set(duplicatesOf("orders"), dedup.Normal)
	s.during(15 * time.Second)
	clear(s.alerts)
	wantTold(t, s.during(10*time.Minute), "ops edges, orders resolved normal")
	if len(s.d.over) != 0 {
		t.Errorf("%d are still remembered", len(s.d.over))
	}
}

func TestAlertsThatAreMissingAreNotTakenForResolved(t *testing.T) {
	s := newDesk(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(time.Minute)
	kept := s.alerts
	s.alerts = map[rule.Key]alerts.Alert{}
	wantTold(t, s.during(time.Hour), "")
	s.alerts = kept
	wantTold(t, s.during(time.Hour), "")
}
