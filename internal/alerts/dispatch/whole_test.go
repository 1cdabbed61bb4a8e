package dispatch

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// newHandoff has one channel that people read, and one that groups by itself.
func newHandoff(change func(*Config)) *desk {
	return newDesk(func(c *Config) {
		c.Channels, c.Undigested = []string{"ops", "handoff"}, []string{"handoff"}
		if change != nil {
			change(c)
		}
	})
}

func TestAChannelThatGroupsByItselfGetsEveryAlertByName(t *testing.T) {
	s := newHandoff(nil)
	for i := range 30 {
		s.set(duplicatesOf(fmt.Sprint("p", i)), dedup.Warning)
	}
	plan := s.during(time.Minute)
	if len(plan) != 2 || plan[0].Kind != alerts.NotifyEdges || len(plan[0].Alerts) != 30 || plan[0].LeftOut != 0 || plan[1].Kind != alerts.NotifyDigest {
		t.Fatal(toldText(plan))
	}
	for k := range s.alerts {
		s.set(k, dedup.Normal)
	}
	plan = s.during(10 * time.Minute)
	if len(plan) != 2 || plan[0].Channel != "handoff" || len(plan[0].Alerts) != 30 || len(plan[1].Alerts) != 10 {
		t.Error(toldText(plan))
	}
}

func TestAChannelThatGroupsByItselfWaitsForNoOthersOfAGroup(t *testing.T) {
	s := newHandoff(func(c *Config) { c.Channels = []string{"handoff"} })
	s.set(duplicatesOf("orders"), dedup.Warning)
	wantTold(t, s.plan(time.Second), "handoff edges, orders fired warning")
	s.set(duplicatesOf("payments"), dedup.Warning)
	wantTold(t, s.plan(time.Second), "handoff edges, payments fired warning")
	s.set(duplicatesOf("orders"), dedup.Normal)
	wantTold(t, s.plan(time.Second), "handoff edges, orders resolved normal")
	wantTold(t, s.plan(time.Second), "")
}

func TestAChannelThatGroupsByItselfGetsEveryChangeOfAnAlertThatFlaps(t *testing.T) {
	s := newHandoff(func(c *Config) { c.Channels, c.GroupWait, c.GroupInterval = []string{"handoff"}, 0, 0 })
	for i := range 9 {
		s.set(duplicatesOf("orders"), []dedup.Tier{dedup.Warning, dedup.Normal}[i%2])
		want := []string{"handoff edges, orders fired warning", "handoff edges, orders resolved normal"}[i%2]
		wantTold(t, s.plan(time.Minute), want)
	}
	if s.d.Flapping(duplicatesOf("orders")).IsZero() {
		t.Error("it does not flap")
	}
}

func TestWhatFiresDoesNotEndWhereItIsBelievedForAWhileOnly(t *testing.T) {
	for name, attend := range map[string]func(*desk, *alerts.Alert){
		"acknowledged": func(s *desk, a *alerts.Alert) {
			a.Ack = &alerts.Ack{By: "ann", At: s.at, Until: s.at.Add(24 * time.Hour), Tier: dedup.Warning}
		},
		"silenced": func(s *desk, _ *alerts.Alert) {
			s.hush = []alerts.Silence{silenceOfPipeline("orders", s.at, s.at.Add(24*time.Hour))}
		},
		"its broker down": func(s *desk, _ *alerts.Alert) {
			down := rule.Key{Rule: "source_unreachable", Kind: rule.OfBroker, Subject: "main"}
			s.set(down, dedup.Severe)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHandover(func(c *Config) { c.Channels = []string{"ops", "handoff"} })
			s.set(duplicatesOf("orders"), dedup.Warning)
			s.during(time.Minute)
			a := s.alerts[duplicatesOf("orders")]
			attend(s, &a)
			s.alerts[a.Key] = a
			times := map[string]int{}
			for _, n := range s.during(5 * time.Hour) {
				for _, a := range n.Alerts {
					times[n.Channel+" "+a.Key.Subject]++
				}
			}
			if times["handoff orders"] < 300 || times["ops orders"] != 0 {
				t.Errorf("told %v", times)
			}
		})
	}
}

func TestASilenceHoldsNewsBackFromAChannelThatGroupsByItself(t *testing.T) {
	s := newHandover(nil)
	s.set(duplicatesOf("orders"), dedup.Warning)
	s.during(time.Minute)
	s.hush = []alerts.Silence{silenceOfPipeline("orders", s.at, s.at.Add(2*time.Hour))}
	s.set(duplicatesOf("orders"), dedup.Severe)
	quiet := s.during(2 * time.Hour)
	wantTold(t, withoutStanding(quiet), "handoff reminder")
	if got := stands(quiet); got != "orders warning" { // or it would end there
		t.Error(got)
	}
	wantTold(t, withoutStanding(s.plan(0)), "handoff edges, orders escalated severe")
}

func TestAChannelThatGroupsByItselfHearsOfAllThatFiresAgainAndAgain(t *testing.T) {
	const repeat = 10 * time.Minute
	rapid.Check(t, func(rt *rapid.T) {
		d := calmed(drawDay(rt))
		d.cfg.Undigested, d.cfg.Standing = []string{"pager"}, map[string]Standing{"pager": {Every: repeat, Believed: time.Hour}}
		told := map[rule.Key]alerts.NotifiedAlert{}
		heard := map[rule.Key]time.Time{}
		var now time.Time
		plans, _ := d.play(nil, nil)
		for tick, plan := range plans {
			now = deskOpens.Add(time.Duration(tick) * 15 * time.Second)
			for _, n := range plan {
				if n.Channel != "pager" || n.Kind == alerts.NotifyReminder {
					continue
				}
				if n.Kind != alerts.NotifyEdges && n.Kind != alerts.NotifyStanding || n.LeftOut > 0 {
					rt.Fatalf("tick %d: %s", tick, toldText(plan))
				}
				for _, a := range n.Alerts {
					if n.Kind == alerts.NotifyEdges || a.Firing {
						told[a.Key], heard[a.Key] = a, now
					}
				}
			}
			for k, a := range told {
				tier := d.tierOf(k, tick)
				if tier <= dedup.Normal {
					heard[k] = now // that it is over may have to wait, and it is not said again then that it fires
				}
				least := repeat
				if tier != a.Tier {
					least += d.cfg.GroupInterval // for which a tier that fell may wait
				}
				if tier == dedup.Normal {
					heard[k] = now // that it is over may be held back; it is due once it fires again
				}
				if a.Firing && now.Sub(heard[k]) > least {
					rt.Fatalf("tick %d: %s fires since %s and was last told at %s", tick, k, a.StartsAt, heard[k])
				}
			}
		}
	})
}

// tierOf returns the tier of an alert at a tick.
func (y day) tierOf(k rule.Key, tick int) dedup.Tier {
	tier := dedup.Normal
	for _, m := range y.moves {
		if m.key == k && m.tick <= tick {
			tier = m.tier
		}
	}
	return tier
}

func TestWhatChangedWhileItMustNotBeToldIsRepeatedAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		tier dedup.Tier
		end  string
	}{
		"worse":  {dedup.Emergency, "handoff edges, orders escalated emergency"},
		"better": {dedup.Warning, "handoff edges, orders deescalated warning"},
		"over":   {dedup.Normal, "handoff edges, orders resolved normal"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHandover(nil)
			s.set(duplicatesOf("orders"), dedup.Severe)
			s.during(time.Minute)
			s.hush = []alerts.Silence{silenceOfPipeline("orders", s.at, s.at.Add(6*time.Hour))}
			s.set(duplicatesOf("orders"), c.tier)
			repeats := 0
			for _, n := range s.during(6 * time.Hour) {
				for _, a := range n.Alerts {
					repeats++
					if a.Edge != "" || a.Tier != dedup.Severe || a.Was != dedup.Severe {
						t.Errorf("%+v", a)
					}
				}
			}
			if want := map[bool]int{true: 360, false: 0}[c.tier > dedup.Normal]; repeats < want || want == 0 && repeats > 0 {
				t.Errorf("told %d times under the silence", repeats)
			}
			wantTold(t, withoutStanding(s.during(10*time.Minute)), c.end)
		})
	}
}
