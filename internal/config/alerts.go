package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/dispatch"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// HeartbeatName is how pages and commands call the heartbeat among the channels.
const HeartbeatName = "heartbeat"

// Alerts say what is judged, and who is told of it.
type Alerts struct {
	// Rules are the built-in ones with those of the configuration, resolved.
	Rules []rule.Rule
	// Channels are the receivers, in the order of the file.
	Channels []notify.Config
	// Dispatch says who is told of what. Where the dashboard is reached is filled in by whoever knows its address.
	Dispatch dispatch.Config
	// Heartbeat is told that rules are evaluated.
	Heartbeat notify.HeartbeatConfig
}

// alertsSection is the section `alerts`: the limits of every pipeline that has none of its own, rules, and whom to tell.
type alertsSection struct {
	Limits   limits          `yaml:"limits"`
	Rules    []ruleSection   `yaml:"rules"`
	Channels []notify.Config `yaml:"channels"`
	Routes   []route         `yaml:"routes"`
	Group    group           `yaml:"group"`

	Heartbeat *notify.HeartbeatConfig `yaml:"heartbeat"`
}

// route is one entry of `alerts.routes`.
type route struct {
	Match    map[string]string `yaml:"match"`
	Tiers    []string          `yaml:"tiers"`
	Channels []string          `yaml:"channels"`
	Continue bool              `yaml:"continue"`
}

// group says which alerts are told together, and how often; a nil field leaves the default.
type group struct {
	By       []string  `yaml:"by"`
	Wait     *Duration `yaml:"wait"`
	Interval *Duration `yaml:"interval"`
	Repeat   *Duration `yaml:"repeat"`
	DigestAt *int      `yaml:"digest_at"`
}

// build checks the section and returns what follows from it.
func (s alertsSection) build(c *report) Alerts {
	return Alerts{Rules: s.buildRules(c), Channels: s.checkChannels(c), Dispatch: s.dispatch(c), Heartbeat: s.heartbeat(c)}
}

// heartbeat returns the heartbeat. One that is asked for must have an address: nobody would miss what never came.
func (s alertsSection) heartbeat(c *report) notify.HeartbeatConfig {
	if s.Heartbeat == nil {
		return notify.HeartbeatConfig{}
	}
	if !s.Heartbeat.On() {
		c.add("alerts.heartbeat.url", "is empty; give an address, or leave the section out")
	}
	c.addErr("alerts.heartbeat", s.Heartbeat.Validate())
	return *s.Heartbeat
}

func (s alertsSection) checkChannels(c *report) []notify.Config {
	checkEntries(c, "alerts.channels", s.Channels, func(ch notify.Config) string { return ch.Name }, func(ch notify.Config) error {
		if ch.Name == HeartbeatName {
			return errors.Join(fmt.Errorf("name: %q is what pages call alerts.heartbeat; choose another name", ch.Name), ch.Validate())
		}
		return ch.Validate()
	})
	return s.Channels
}

// dispatch lays the routes and the times that are set over the defaults.
func (s alertsSection) dispatch(c *report) dispatch.Config {
	d := dispatch.Default()
	d.Standing = map[string]dispatch.Standing{}
	for _, ch := range s.Channels {
		d.Channels = append(d.Channels, ch.Name)
		if notify.GroupsItself(ch.Type) {
			d.Undigested = append(d.Undigested, ch.Name)
		}
		if every, believed := ch.Standing(); every > 0 {
			d.Standing[ch.Name] = dispatch.Standing{Every: every, Believed: believed}
		}
	}
	for i, r := range s.Routes {
		path := fmt.Sprintf("alerts.routes[%d]", i)
		d.Routes = append(d.Routes, r.build(c, path))
		if r.takesAll() && !allForWatchdog(s.Routes[i+1:]) {
			c.add(path, "takes every alert, so that the routes behind it are never tried; move it to the end, or add continue: true")
		}
	}
	if s.Group.By != nil {
		d.GroupBy = s.Group.By
	}
	override(&d.GroupWait, (*time.Duration)(s.Group.Wait))
	override(&d.GroupInterval, (*time.Duration)(s.Group.Interval))
	override(&d.Repeat, (*time.Duration)(s.Group.Repeat))
	override(&d.DigestAt, s.Group.DigestAt)
	if !within("alerts.channels", c.unread) { // else each of their names would count as unknown
		c.addErr("alerts", d.Validate())
	}
	return d
}

// takesAll reports whether no route behind it is tried, but for the watchdog.
func (r route) takesAll() bool { return len(r.Match) == 0 && len(r.Tiers) == 0 && !r.Continue }

// allForWatchdog reports whether all routes ask for the watchdog by name, which goes to no others.
func allForWatchdog(routes []route) bool {
	return !slices.ContainsFunc(routes, func(r route) bool { return r.Match[rule.LabelRule] != alerts.RuleWatchdog })
}

// checkGroups records labels that no alert has: grouped by them alone, everything would be one group. Nor may the tier tell groups apart.
func (f *file) checkGroups(c *report) {
	given := slices.DeleteFunc(rule.Labels(), func(label string) bool { return label == rule.LabelTier })
	known := slices.Clone(given)
	for _, p := range f.Pipelines {
		known = slices.AppendSeq(known, maps.Keys(p.Labels))
	}
	for i, label := range f.Alerts.Group.By {
		path := fmt.Sprintf("alerts.group.by[%d]", i)
		switch {
		case label == rule.LabelTier:
			c.add(path, "alerts cannot be grouped by tier: one that gets worse or better would change its group, and groups do not wait for each "+
				"other, so that its end could arrive before its beginning; remove it, and send tiers to channels of their own by alerts.routes")
		case !slices.Contains(known, label):
			c.add(path, "no alert has the label %q; name %s or a label of a pipeline", label, strings.Join(given, ", "))
		}
	}
}

func (r route) build(c *report, path string) dispatch.Route {
	if r.Channels == nil {
		c.add(path+".channels", "is missing; name who is told, or write [] where nobody is to be")
	}
	built := dispatch.Route{Match: r.Match, Channels: r.Channels, Continue: r.Continue}
	for i, word := range r.Tiers {
		t, ok := dedup.ParseTier(word)
		if !ok || t < dedup.Warning {
			c.add(fmt.Sprintf("%s.tiers[%d]", path, i), "%q is no tier that fires; write warning, severe or emergency", word)
			continue
		}
		built.Tiers = append(built.Tiers, t)
	}
	return built
}
