package check

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
)

// printAlerts says what will be judged, and who is told of it. Nothing is sent: that is the work of test-notify.
func printAlerts(w io.Writer, cfg *config.Config) {
	a := cfg.Alerts
	judged, off := map[string]bool{}, map[string]bool{}
	for _, r := range a.Rules {
		if r.Disabled {
			off[r.Name] = true
		} else {
			judged[r.Name] = true
		}
	}
	for name := range judged {
		delete(off, name) // it judges some subjects
	}
	fmt.Fprintf(w, "\nalerts: %s judged, %d switched off\n", amount(len(judged), "rule"), len(off))
	if len(a.Channels) > 0 {
		var told []string
		for _, c := range a.Channels {
			told = append(told, c.Name+" ("+c.Type+")")
		}
		fmt.Fprintf(w, "  told to: %s; dashboard test-notify sends a message for trial\n", strings.Join(told, ", "))
	}
	for _, note := range Notes(cfg) {
		fmt.Fprintln(w, "  NOTE: "+note)
	}
}

// Notes returns what in the alerts of a configuration is no mistake and yet hardly meant.
func Notes(cfg *config.Config) []string {
	var notes []string
	for _, what := range unmatched(cfg) {
		notes = append(notes, what+"; look for a mistyped word")
	}
	if len(cfg.Alerts.Channels) == 0 {
		return append(notes, "there is no channel, so that nobody is told: docs/alerts.md has an example of each type")
	}
	if !cfg.Alerts.Heartbeat.On() {
		notes = append(notes, "there is no heartbeat: when the dashboard itself is down, nobody is told (alerts.heartbeat.url)")
	}
	if cfg.Server.PublicURL == "" {
		notes = append(notes, "the links in messages lead to server.listen, "+cfg.Server.Listen+": set server.public_url to the address that people open")
	}
	return notes
}

// unmatched says which rules and routes ask for a label that nothing carries, so that they never hold.
func unmatched(cfg *config.Config) []string {
	carried := labelsCarried(cfg)
	var notes []string
	note := func(what string, match map[string]string) {
		for _, label := range slices.Sorted(maps.Keys(match)) {
			if value := match[label]; !carried[label][value] {
				notes = append(notes, fmt.Sprintf("%s matches %s: %s, which no alert has", what, label, value))
			}
		}
	}
	for _, r := range cfg.Alerts.Rules {
		note("rule "+r.Name, r.Match)
	}
	for i, r := range cfg.Alerts.Dispatch.Routes {
		note(fmt.Sprintf("alerts.routes[%d]", i), r.Match)
	}
	return notes
}

// labelsCarried are the values that each label of an alert can have.
func labelsCarried(cfg *config.Config) map[string]map[string]bool {
	carried := map[string]map[string]bool{}
	add := func(label, value string) {
		if carried[label] == nil {
			carried[label] = map[string]bool{}
		}
		carried[label][value] = true
	}
	for _, r := range cfg.Alerts.Rules {
		add(rule.LabelRule, r.Name)
	}
	for _, kind := range []rule.SubjectKind{rule.OfPipeline, rule.OfBroker, rule.OfStore, rule.OfDashboard} {
		add(rule.LabelKind, string(kind))
	}
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		add(rule.LabelTier, t.String())
	}
	for _, b := range cfg.Brokers {
		add(rule.LabelBroker, b.Name)
	}
	for _, s := range cfg.Stores {
		add(rule.LabelStore, s.Name)
	}
	for _, p := range cfg.Pipelines {
		add(rule.LabelPipeline, p.Name)
		for label, value := range p.Labels {
			add(label, value)
		}
	}
	return carried
}
