package dispatch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// lossRule is the rule whose alerts are told though their broker is unreachable, where they fired before.
const lossRule = "lost_messages"

// A Route sends alerts to channels.
type Route struct {
	// Match names labels and the values they must have: those of the pipeline, with broker, store and pipeline, and rule and kind.
	Match map[string]string
	// Tiers are those it takes; empty for all.
	Tiers []dedup.Tier
	// Channels are told; when there are none, nobody is.
	Channels []string
	// Continue says that later routes are tried too.
	Continue bool
}

func (r Route) takes(labels map[string]string, tier dedup.Tier) bool {
	for label, value := range r.Match {
		if labels[label] != value {
			return false
		}
	}
	return len(r.Tiers) == 0 || slices.Contains(r.Tiers, tier)
}

// Validate returns all problems joined; each message begins with the key that is at fault, of those that belong to alerts, and says how to
// fix it.
func (c Config) Validate() error {
	var problems []error
	fault := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for i, r := range c.Routes {
		for _, name := range r.Channels {
			if !slices.Contains(c.Channels, name) {
				fault("routes[%d].channels: there is no channel %q; %s", i, name, oneOf(c.Channels))
			}
		}
		for _, t := range r.Tiers {
			if t < dedup.Warning {
				fault("routes[%d].tiers: an alert has no tier %q; name warning, severe or emergency", i, t)
			}
		}
	}
	for i, wait := range []time.Duration{c.GroupWait, c.GroupInterval, c.Repeat} {
		if wait < 0 {
			fault("group.%s: must not be negative, but is %s", []string{"wait", "interval", "repeat"}[i], wait)
		}
	}
	if c.DigestAt < 0 {
		fault("group.digest_at: must not be negative, but is %d; 0 means that there are no digests", c.DigestAt)
	}
	return errors.Join(problems...)
}

// oneOf says which channels can be named.
func oneOf(channels []string) string {
	if len(channels) == 0 {
		return "none is configured"
	}
	return "name one of " + strings.Join(channels, ", ")
}

// channelsOf returns the channels that alerts with these labels go to.
func (d *Dispatcher) channelsOf(name string, labels map[string]string, tier dedup.Tier) []string {
	var channels []string
	matched := false
	for _, r := range d.cfg.Routes {
		if name == alerts.RuleWatchdog && r.Match[rule.LabelRule] != alerts.RuleWatchdog || !r.takes(labels, tier) {
			continue
		}
		matched = true
		channels = append(channels, r.Channels...)
		if !r.Continue {
			break
		}
	}
	if !matched && name != alerts.RuleWatchdog {
		return d.cfg.Channels
	}
	return channels
}

// A candidate is an alert with all that decides whom it is told to.
type candidate struct {
	alert alerts.Alert
	// tier is what fires now; normal when nothing does.
	tier        dedup.Tier
	channels    []string
	group       string
	groupLabels map[string]string
	// muted: a silence or another alert keeps it from being told. What it would have told is made up for afterwards.
	muted bool
	// hush is the silence that keeps it from being told for the longest; nil where none does, or something else would when it ends.
	hush  *alerts.Silence
	acked bool
	// flapping is since when its edges are told in digests only, peak the worst tier that it has had lately.
	flapping time.Time
	peak     dedup.Tier
}

// candidates returns the alerts by their keys, each once, with those that are over and no longer among them. Those of which there is nothing
// to tell are left out.
func (d *Dispatcher) candidates(at time.Time, list []alerts.Alert, edges []alerts.Transition, silences []alerts.Silence) []candidate {
	known := maps.Clone(d.over)
	for _, e := range inOrder(edges) {
		known[e.Judgement.Key] = afterEdge(e)
	}
	for _, a := range list {
		known[a.Key] = a
	}
	away := unreachable(known)
	active := slices.DeleteFunc(slices.Clone(silences), func(s alerts.Silence) bool { return !s.Active(at) })
	awaited := d.awaited()
	maps.DeleteFunc(known, func(k rule.Key, a alerts.Alert) bool {
		return firingTier(a.State) <= dedup.Normal && !awaited[k] && d.flaps.since[k].IsZero()
	})
	all := make([]candidate, 0, len(known))
	for _, k := range slices.SortedFunc(maps.Keys(known), rule.Key.Compare) {
		all = append(all, d.candidate(at, known[k], away, active))
	}
	return all
}

// afterEdge returns an alert of which no more is known than its newest edge.
func afterEdge(e alerts.Transition) alerts.Alert {
	a := alerts.Alert{Key: e.Judgement.Key, Last: e.Judgement, LastOK: e.Judgement, Cause: e.Cause}
	a.State = alerts.State{Tier: e.To, Since: e.At, Seen: e.At}
	if e.To > dedup.Normal {
		a.State.Phase, a.State.FiredAt, a.State.TierSince = alerts.PhaseFiring, e.At, e.At
	}
	return a
}

func (d *Dispatcher) candidate(at time.Time, a alerts.Alert, away map[string]absence, silences []alerts.Silence) candidate {
	c := candidate{alert: a, tier: firingTier(a.State), flapping: d.flaps.since[a.Key]}
	c.acked = a.Ack.Holds(a.State, at)
	c.peak = max(c.tier, d.flaps.peak(a.Key))
	shown := c.tier
	if shown <= dedup.Normal {
		shown = c.peak // what has just been is routed as what it was, so that all hear that it flaps
	}
	labels := a.MatchLabels(shown)
	c.channels = d.channelsOf(a.Key.Rule, labels, shown)
	c.group, c.groupLabels = groupOf(d.cfg.GroupBy, labels)
	if known := d.knownTier(a.Key); c.tier <= dedup.Normal && known > dedup.Normal {
		labels[rule.LabelTier] = known.String() // an end is silenced as what it is the end of, however long ago it was
	}
	if c.muted = inhibited(a, c.tier, away); !c.muted {
		c.hush = lastToEnd(silences, labels)
		c.muted = c.hush != nil
	}
	return c
}

// knownTier returns the worst tier that a channel knows of an alert; normal where none knows of it.
func (d *Dispatcher) knownTier(k rule.Key) dedup.Tier {
	worst := dedup.Normal
	for _, channel := range d.cfg.Channels {
		worst = max(worst, item{told: d.told[sentKey{channel, k}]}.was())
	}
	return worst
}

func firingTier(s alerts.State) dedup.Tier {
	if s.Fires() {
		return max(s.Tier, dedup.Normal)
	}
	return dedup.Normal
}

// groupOf returns what alerts with these labels have in common, quoted so that no two groups read alike.
func groupOf(by []string, labels map[string]string) (string, map[string]string) {
	own := map[string]string{}
	var parts []string
	for _, label := range by {
		if value := labels[label]; value != "" {
			own[label] = value
			parts = append(parts, label+"="+strconv.Quote(value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}", own
}

// An absence is the alert of a broker that cannot be read.
type absence struct {
	since time.Time
	tier  dedup.Tier
}

// unreachable returns the absences by broker. One that answers again is none, although its alert goes on to fire for a while.
func unreachable(known map[rule.Key]alerts.Alert) map[string]absence {
	away := map[string]absence{}
	for k, a := range known {
		if k.Rule == alerts.RuleUnreachable && k.Kind == rule.OfBroker && a.State.Phase == alerts.PhaseFiring {
			away[k.Subject] = absence{a.State.FiredAt, a.State.Tier}
		}
	}
	return away
}

// inhibited says whether the broker of an alert's pipeline or shared queue is down, which is told already, at a tier that is no lower. That messages
// were lost is told all the same when it fired before.
func inhibited(a alerts.Alert, tier dedup.Tier, away map[string]absence) bool {
	if a.Key.Kind != rule.OfPipeline && a.Key.Kind != rule.OfQueue {
		return false
	}
	out, down := away[a.Labels()[rule.LabelBroker]]
	lost := a.Key.Rule == lossRule && tier >= dedup.Severe && a.State.FiredAt.Before(out.since)
	return down && tier <= out.tier && !lost
}
