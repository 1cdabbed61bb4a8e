package dispatch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A move is what happens to one alert at one tick.
type move struct {
	tick int
	key  rule.Key
	tier dedup.Tier
}

// A day is a course of events that can be played again.
type day struct {
	cfg    Config
	ticks  int
	moves  []move
	hushes []alerts.Silence
}

func drawDay(rt *rapid.T) day {
	cfg := Default()
	cfg.Channels = []string{"ops", "pager"}
	cfg.Repeat = time.Hour
	cfg.DigestAt = rapid.IntRange(2, 6).Draw(rt, "digest at")
	if rapid.Bool().Draw(rt, "whole") {
		cfg.Undigested = []string{"pager"}
	}
	if rapid.Bool().Draw(rt, "routes") {
		cfg.Routes = []Route{{Tiers: []dedup.Tier{dedup.Emergency}, Channels: []string{"pager"}, Continue: true}, {Channels: []string{"ops"}}}
	}
	if rapid.Bool().Draw(rt, "alone") {
		cfg.GroupBy = []string{"pipeline"}
	}
	d := day{cfg: cfg, ticks: rapid.IntRange(1, 400).Draw(rt, "ticks")}
	seen := map[string]bool{}
	for range rapid.IntRange(0, 40).Draw(rt, "moves") {
		m := move{tick: rapid.IntRange(0, d.ticks-1).Draw(rt, "tick"), tier: dedup.Tier(rapid.IntRange(int(dedup.Normal), int(dedup.Emergency)).Draw(rt, "tier"))}
		m.key = duplicatesOf(fmt.Sprint("p", rapid.IntRange(0, 6).Draw(rt, "pipeline")))
		if rapid.IntRange(0, 9).Draw(rt, "broker") == 0 {
			m.key = rule.Key{Rule: "source_unreachable", Kind: rule.OfBroker, Subject: "main"}
		}
		if at := fmt.Sprint(m.tick, m.key); !seen[at] {
			seen[at] = true
			d.moves = append(d.moves, m)
		}
	}
	slices.SortFunc(d.moves, func(a, b move) int { return a.tick - b.tick })
	for i := range rapid.IntRange(0, 3).Draw(rt, "silences") {
		from := deskOpens.Add(time.Duration(rapid.IntRange(0, d.ticks).Draw(rt, "from")) * 15 * time.Second)
		d.hushes = append(d.hushes, silenceOfPipeline(fmt.Sprint("p", i), from, from.Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "minutes"))*time.Minute)))
	}
	return d
}

// play returns what is told, tick by tick, and how many edges there were.
func (y day) play(each func(tick int, s *desk, edges []alerts.Transition), shuffle func(*desk) []alerts.Alert) (plans [][]alerts.Notification, edges int) {
	s := newDesk(func(c *Config) { *c = y.cfg })
	s.hush = y.hushes
	next := 0
	for tick := range y.ticks {
		for ; next < len(y.moves) && y.moves[next].tick == tick; next++ {
			s.set(y.moves[next].key, y.moves[next].tier)
		}
		made := s.edges
		edges += len(made)
		if shuffle != nil {
			plans = append(plans, s.d.Plan(s.at, shuffle(s), s.edges, s.hush))
			s.edges, s.at = nil, s.at.Add(15*time.Second)
		} else {
			plans = append(plans, s.plan(15*time.Second))
		}
		if each != nil {
			each(tick, s, made)
		}
	}
	return plans, edges
}

// onlyRepeats says whether a message tells nothing new.
func onlyRepeats(n alerts.Notification) bool {
	return n.Kind != alerts.NotifyFlapping && !slices.ContainsFunc(n.Alerts, func(a alerts.NotifiedAlert) bool { return a.Edge != "" })
}

func TestThereAreNoMoreMessagesThanEdgesAndRepeats(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDay(rt)
		plans, edges := d.play(nil, nil)
		for _, channel := range d.cfg.Channels {
			messages := 0
			for _, n := range slices.Concat(plans...) {
				if n.Channel == channel && !onlyRepeats(n) {
					messages++
				}
			}
			if messages > edges {
				rt.Fatalf("%s got %d messages of %d edges", channel, messages, edges)
			}
		}
	})
}

func TestResolvedIsToldOnlyAfterFiringByAlertAndChannel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDay(rt)
		plans, _ := d.play(nil, nil)
		firing := map[sentKey]bool{}
		for _, n := range slices.Concat(plans...) {
			for _, a := range n.Alerts {
				k := sentKey{n.Channel, a.Key}
				switch {
				case a.Edge == alerts.EdgeResolved && !firing[k]:
					rt.Fatalf("%s was told that %s is over, and never that it fired", n.Channel, a.Key)
				case a.Edge == alerts.EdgeFired && firing[k]:
					rt.Fatalf("%s was told twice that %s fired", n.Channel, a.Key)
				case n.Kind != alerts.NotifyFlapping:
					firing[k] = a.Firing
				case !a.Firing:
					delete(firing, k)
				default:
					firing[k] = true
				}
			}
		}
	})
}

// calmed plays on, without moves but that the broker can be read, until everything has been told.
func calmed(d day) day {
	d.moves = append(d.moves, move{tick: d.ticks, key: rule.Key{Rule: "source_unreachable", Kind: rule.OfBroker, Subject: "main"}, tier: dedup.Normal})
	d.ticks += int(2 * time.Hour / (15 * time.Second))
	return d
}

func TestASilenceChangesDeliveryAndNotWhatIsKnownAfterIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := calmed(drawDay(rt))
		d.cfg.Routes = nil // a channel that an alert once went to hears of it on, and one that it never went to does not
		knows := func(d day) string {
			var known []string
			d.play(func(tick int, s *desk, _ []alerts.Transition) {
				if tick < d.ticks-1 {
					return
				}
				for k, sent := range s.d.told {
					known = append(known, fmt.Sprint(k.channel, k.key, sent.Tier))
				}
			}, nil)
			slices.Sort(known)
			return strings.Join(known, "\n")
		}
		silenced := knows(d)
		d.hushes = nil
		if loud := knows(d); loud != silenced {
			rt.Fatalf("after silences channels know\n%s\nand without them\n%s", silenced, loud)
		}
	})
}

func TestTheOrderOfAlertsAndEdgesChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDay(rt)
		sorted, _ := d.play(nil, func(s *desk) []alerts.Alert {
			return slices.SortedFunc(maps.Values(s.alerts), func(a, b alerts.Alert) int { return a.Key.Compare(b.Key) })
		})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 0))
		mixed, _ := d.play(nil, func(s *desk) []alerts.Alert {
			slices.Reverse(s.edges)
			all := slices.SortedFunc(maps.Values(s.alerts), func(a, b alerts.Alert) int { return a.Key.Compare(b.Key) })
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			return all
		})
		for i := range sorted {
			if fmt.Sprintf("%+v", sorted[i]) != fmt.Sprintf("%+v", mixed[i]) {
				rt.Fatalf("tick %d: %s, in another order %s", i, toldText(sorted[i]), toldText(mixed[i]))
			}
		}
	})
}

// once takes away what the outbox has already: a reminder that is planned again after a restart.
func once(plans [][]alerts.Notification) {
	seen := map[string]bool{}
	for i := range plans {
		plans[i] = slices.DeleteFunc(plans[i], func(n alerts.Notification) bool {
			again := seen[n.ID] && n.Kind == alerts.NotifyReminder
			seen[n.ID] = true
			return again
		})
	}
}

func TestARestartAtAnyTickTellsTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDay(rt)
		through, _ := d.play(nil, nil)
		stop := rapid.IntRange(0, d.ticks-1).Draw(rt, "restart after tick")
		log := map[sentKey]alerts.Sent{}
		var edges []alerts.Transition
		restarted, _ := d.play(func(tick int, s *desk, made []alerts.Transition) {
			edges = append(edges, made...)
			for _, sent := range s.d.Sent() {
				log[sentKey{sent.Channel, sent.Key}] = sent
			}
			for k, a := range s.alerts {
				a.Flapping = s.d.Flapping(k)
				s.alerts[k] = a
			}
			if tick == stop {
				maps.DeleteFunc(log, func(_ sentKey, sent alerts.Sent) bool { return sent.Tier <= dedup.Normal && sent.Flapping.IsZero() })
				s.d.Restore(slices.Collect(maps.Values(log)))
				begin := s.at.Add(-15*time.Second - FlapWindow)
				s.d.Recall(slices.DeleteFunc(edges, func(e alerts.Transition) bool { return !e.At.After(begin) }))
			}
		}, nil)
		once(restarted)
		for i := range through {
			if toldText(through[i]) != toldText(restarted[i]) {
				rt.Fatalf("tick %d: %s, after a restart %s", i, toldText(through[i]), toldText(restarted[i]))
			}
		}
	})
}
