package dispatch

import (
	"fmt"
	"maps"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// Standing is how a channel whose receiver forgets is told all that stands.
type Standing struct {
	// Every is after which time it is told again. Believed is for how long the receiver believes that an alert fires of which it hears no
	// more: what ended is told again for as long, because it may have missed the end.
	Every, Believed time.Duration
}

// Recalls returns how far back the edges go that a dispatcher has to be told of after a restart, by Recall.
func (c Config) Recalls() time.Duration {
	longest := FlapWindow
	for _, s := range c.Standing {
		longest = max(longest, s.Believed)
	}
	return longest
}

// standing is the label of the group of the messages that say what stands. They have one of their own, so that they wait for no other, and
// none for them.
const standing = "standing"

// An endedTier is an alert at a tier that a channel was told of and that is over. To receivers that take the tier for a part of what
// identifies an alert each tier is an alert of its own.
type endedTier struct {
	sentKey
	tier dedup.Tier
}

// An end is when an alert at one tier began and ended.
type end struct{ began, at time.Time }

// A stand is what there is to say again to the receivers that forget.
type stand struct {
	// said is when it was last said, by channel, and ended what ended lately.
	said  map[string]time.Time
	ended map[endedTier]end
}

func newStand() stand { return stand{said: map[string]time.Time{}, ended: map[endedTier]end{}} }

func (s stand) clone() stand { return stand{said: maps.Clone(s.said), ended: maps.Clone(s.ended)} }

// recall takes the tiers that alerts left before a restart for told, where they are routed to: that one has ended which a receiver never
// had is no news to it.
func (d *Dispatcher) recall(e alerts.Transition) {
	k := e.Judgement.Key
	if len(d.cfg.Standing) == 0 || e.From <= dedup.Normal {
		return
	}
	for _, channel := range d.channelsOf(k.Rule, afterEdge(e).MatchLabels(e.From), e.From) {
		if d.cfg.Standing[channel].Every > 0 {
			d.stand.ended[endedTier{sentKey{channel, k}, e.From}] = end{e.Edge.At, e.Edge.At}
		}
	}
	delete(d.over, k)
	if e.To <= dedup.Normal {
		d.over[k] = afterEdge(e) // for its labels
	}
}

// restate returns the message that says again, to a channel whose receiver forgets, all that it was told which still fires and what has
// ended lately: when it is due, and after other messages, so that an older one that is not delivered yet, whose place it takes, is never
// delivered after them. It changes nothing in what the channel was told, and one that is lost is made up for by the next.
func (d *Dispatcher) restate(at time.Time, channel string, news bool, all []candidate) []alerts.Notification {
	every := d.cfg.Standing[channel].Every
	if every <= 0 {
		return nil
	}
	d.noteEnds(at, channel)
	if !news && !passed(at, d.stand.said[channel], every) {
		return nil
	}
	d.stand.said[channel] = at
	n := d.message(at, channel, alerts.NotifyStanding)
	n.Group, _ = groupOf([]string{standing}, map[string]string{standing: channel})
	for i := range all {
		n.Alerts = append(n.Alerts, d.restated(at, channel, &all[i])...)
	}
	if len(n.Alerts) == 0 {
		return nil
	}
	n.ID = hashed(fmt.Appendf(nil, "%q %q %d", n.Channel, n.Kind, keptMillis(at)))
	return []alerts.Notification{n}
}

// restated returns an alert as the channel was told it, and the tiers that it left.
func (d *Dispatcher) restated(at time.Time, channel string, c *candidate) []alerts.NotifiedAlert {
	if c.alert.Key.Rule == alerts.RuleWatchdog {
		return nil
	}
	var list []alerts.NotifiedAlert
	k := sentKey{channel, c.alert.Key}
	var goesOn dedup.Tier
	if told := d.told[k]; told.Tier > dedup.Normal && c.tier > dedup.Normal {
		goesOn = told.Tier
		list = append(list, d.words(at, item{candidate: c, told: told, tier: told.Tier}))
	}
	for tier := dedup.Emergency; tier > dedup.Normal; tier-- {
		if over, ended := d.stand.ended[endedTier{k, tier}]; ended {
			one := d.words(at, item{candidate: c, told: alerts.Sent{Tier: tier}, tier: dedup.Normal})
			one.StartsAt, one.EndsAt, one.GoesOn = over.began, over.at, goesOn
			list = append(list, one)
		}
	}
	return list
}

// noteEnds notes what the newest plan told the channel to be over, and forgets what fires again or ended long ago.
func (d *Dispatcher) noteEnds(at time.Time, channel string) {
	for k, was := range d.before {
		if k.channel == channel && was.Tier > dedup.Normal {
			d.stand.ended[endedTier{k, was.Tier}] = end{was.Began, at}
		}
	}
	maps.DeleteFunc(d.stand.ended, func(t endedTier, e end) bool {
		return t.channel == channel && (d.told[t.sentKey].Tier == t.tier || passed(at, e.at, d.cfg.Standing[channel].Believed))
	})
}
