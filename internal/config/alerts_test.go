package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/alerts/dispatch"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// parseAlerts parses the minimal file with a section of alerts.
func parseAlerts(t *testing.T, section string) *Config {
	t.Helper()
	cfg, err := Parse("test.yaml", []byte(minimal+"\nalerts:\n"+section))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// ruleOf returns the rule of a name that holds for subjects with these labels.
func ruleOf(t *testing.T, cfg *Config, name string, labels map[string]string) rule.Rule {
	t.Helper()
	for _, r := range cfg.Alerts.Rules {
		if r.Name == name && r.Covers(labels) {
			return r
		}
	}
	t.Fatalf("no rule %s for %v", name, labels)
	return rule.Rule{}
}

func TestWithoutAWordTheBuiltInRulesAndTimesHold(t *testing.T) {
	cfg, err := Parse("test.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(cfg.Alerts.Rules), len(rule.Defaults()); got != want {
		t.Errorf("%d rules, want %d", got, want)
	}
	d, want := cfg.Alerts.Dispatch, dispatch.Default()
	if d.GroupWait != want.GroupWait || d.Repeat != want.Repeat || d.DigestAt != want.DigestAt {
		t.Errorf("dispatch is %+v", d)
	}
	if cfg.Alerts.Heartbeat.On() {
		t.Error("a heartbeat that nobody asked for")
	}
}

func TestARuleOfTheFileChangesWhatItGivesAndNothingElse(t *testing.T) {
	cfg := parseAlerts(t, `
  rules:
    - {name: stuck_markers, match: {team: shop}, limits: {severe: 20}, for: {severe: 0s}}
    - {name: failure_rate, limits: {warning: 2.5%}, for: 1m, keep_firing_for: 0s}
    - {name: backlog, limits: {warning: 1000}}
    - {name: ack_timeouts, disabled: true}
    - {name: unacked_without_ack, limits: {warning: 30m}}
`)
	shop, other := ruleOf(t, cfg, "stuck_markers", map[string]string{"team": "shop"}), ruleOf(t, cfg, "stuck_markers", nil)
	if *shop.Limits.Severe != 20 || *shop.Limits.Warning != 1 || shop.Timing.Severe != 0 || shop.Timing.Warning != 2*time.Minute || shop.Title != "Stuck markers" {
		t.Errorf("the variant is %+v with timing %+v", shop.Limits, shop.Timing)
	}
	if *other.Limits.Severe != 10 || other.Timing.Severe != 2*time.Minute {
		t.Errorf("the rule of the others changed: %+v, %+v", other.Limits, other.Timing)
	}
	failures := ruleOf(t, cfg, "failure_rate", nil)
	want := rule.Timing{Warning: time.Minute, Severe: time.Minute, Emergency: time.Minute}
	if *failures.Limits.Warning != 0.025 || *failures.Limits.Severe != 0.20 || failures.Timing != want {
		t.Errorf("failure_rate is %+v with timing %+v", failures.Limits, failures.Timing)
	}
	if r := ruleOf(t, cfg, "backlog", nil); r.Disabled || *r.Limits.Warning != 1000 {
		t.Errorf("backlog is %+v", r)
	}
	if !ruleOf(t, cfg, "ack_timeouts", nil).Disabled || *ruleOf(t, cfg, "unacked_without_ack", nil).Limits.Warning != 1800 {
		t.Error("ack_timeouts is on, or the span of unacked_without_ack was not read")
	}
}

func TestARuleOfOnesOwnIsReadWithAllItSays(t *testing.T) {
	cfg := parseAlerts(t, `
  rules:
    - name: cancelled-orders
      numerator: sum by (pipeline) (increase(dedup_reported_outcomes_total{outcome="failed"}[$window]))
      denominator: sum by (pipeline) (increase(dedup_reported_outcomes_total[$window]))
      min_count: 50
      limits: {warning: 2%, leave: 90%}
      no_data: ok
      runbook: https://wiki.example.com/x
`)
	r := ruleOf(t, cfg, "cancelled-orders", nil)
	if r.Kind != rule.OfPipeline || r.Unit != dedup.Ratio || *r.Limits.Warning != 0.02 || r.Limits.Leave != 0.9 || r.MinCount != 50 ||
		r.NoData != rule.NoDataOK || r.Timing != rule.DefaultTiming() || r.Title != "cancelled-orders" ||
		r.Runbook != "https://wiki.example.com/x" {
		t.Errorf("the rule is %+v", r)
	}
}

func TestARatioOfOnesOwnRestsOnFiftyEventsUnlessTheFileSays(t *testing.T) {
	cfg := parseAlerts(t, `
  rules:
    - name: conflicts
      numerator: sum by (pipeline) (increase(dedup_reported_outcomes_total{outcome="conflict"}[$window]))
      denominator: sum by (pipeline) (increase(dedup_reported_outcomes_total[$window]))
      limits: {warning: 2%}
    - {name: conflicts, match: {pipeline: orders}, min_count: 1}
`)
	for count, labels := range map[float64]map[string]string{50: nil, 1: {"pipeline": "orders"}} {
		if r := ruleOf(t, cfg, "conflicts", labels); r.MinCount != count {
			t.Errorf("for %v it rests on %v, want %v", labels, r.MinCount, count)
		}
	}
}

func TestChannelsRoutesAndTimesAreRead(t *testing.T) {
	cfg := parseAlerts(t, `
  channels:
    - {name: pager, type: webhook, url: "https://pager.example.com/x"}
    - {name: chat, type: slack, url: "https://hooks.slack.com/services/a/b/c"}
  routes:
    - {match: {team: shop}, tiers: [severe, emergency], channels: [pager], continue: true}
    - {channels: [chat]}
  group: {by: [], wait: 0s, interval: 1m, repeat: 0s, digest_at: 0}
  heartbeat: {url: "https://beat.example.com/x"}
`)
	d := cfg.Alerts.Dispatch
	want := []dispatch.Route{
		{Match: map[string]string{"team": "shop"}, Tiers: []dedup.Tier{dedup.Severe, dedup.Emergency}, Channels: []string{"pager"}, Continue: true},
		{Channels: []string{"chat"}},
	}
	if diff := cmp.Diff(want, d.Routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	if d.GroupWait != 0 || d.GroupInterval != time.Minute || d.Repeat != 0 || d.DigestAt != 0 || len(d.GroupBy) != 0 || len(d.Channels) != 2 {
		t.Errorf("dispatch is %+v", d)
	}
	if own := parseAlerts(t, "  channels: [{name: am, type: alertmanager, urls: [\"http://10.0.0.8:9093\"], ends_after: 4h}]").Alerts.Dispatch; own.Standing["am"] != (dispatch.Standing{Every: time.Minute, Believed: 4 * time.Hour}) || len(own.Undigested) != 1 {
		t.Errorf("Alertmanager hears everything again every %v, undigested %v", own.Standing, own.Undigested)
	}
	if len(cfg.Alerts.Channels) != 2 || !cfg.Alerts.Heartbeat.On() {
		t.Errorf("channels %v, heartbeat %v", len(cfg.Alerts.Channels), cfg.Alerts.Heartbeat.On())
	}
}

func TestALimitThatCannotBeReadIsReportedOnce(t *testing.T) {
	for _, limits := range []string{"{warning: 3%}", "{warning: many}", "{warning: many, severe: 2}"} {
		_, err := Parse("test.yaml", []byte(minimal+"\nalerts: {rules: [{name: dead_letters, limits: "+limits+"}]}"))
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 || problems[0].Path != "alerts.rules[0].limits.warning" {
			t.Errorf("%s: %v", limits, err)
		}
	}
}

func TestARouteOfTheWatchdogMayStandBehindOneThatTakesEveryAlert(t *testing.T) {
	const pager = "  channels: [{name: pager, type: slack, url: \"https://hooks.slack.com/services/a/b/c\"}]\n"
	const routes = "  routes:\n    - {channels: [pager]}\n    - {match: {rule: watchdog}, channels: [pager]}\n"
	if _, err := Parse("test.yaml", []byte(minimal+"\nalerts:\n"+pager+routes)); err != nil {
		t.Errorf("refused: %v", err)
	}
	hidden := routes + "    - {match: {rule: backlog}, channels: []}\n"
	_, err := Parse("test.yaml", []byte(minimal+"\nalerts:\n"+pager+hidden))
	if err == nil || !strings.Contains(err.Error(), "alerts.routes[0]: takes every alert") {
		t.Errorf("one that is never tried behind both: %v", err)
	}
}

func TestEveryMistakeInAlertsIsReportedAtItsLine(t *testing.T) {
	const pager = "\n  channels: [{name: pager, type: webhook, url: \"https://hunter.example.com/hunter2\"}]"
	for _, tt := range []struct{ name, section, want string }{
		{"a query that does not parse", "  rules:\n    - {name: a, expr: dedup_dead_letters}\n    - {name: b, limits: {warning: 1}, expr: \"sum((up)\"}", "test.yaml:12: alerts.rules[1].expr: "},
		{"a series that nobody stores", "  rules:\n    - {name: a, limits: {warning: 1}, expr: sum by (pipeline) (dedup_dead_leters)}", "test.yaml:11: alerts.rules[0].expr: nobody stores a series dedup_dead_leters (did you mean dedup_dead_letters?)"},
		{"a rule without limits", "  rules:\n    - {name: a, expr: dedup_dead_letters}", "test.yaml:11: alerts.rules[0].limits: none is given"},
		{"a rule without a value", "  rules:\n    - {name: a, limits: {warning: 1}}", `test.yaml:11: alerts.rules[0]: there is no built-in rule "a", and a rule of your own needs expr`},
		{"a built-in rule that is mistyped", "  rules:\n    - {name: stuck_marker, limits: {warning: 3}}", `test.yaml:11: alerts.rules[0]: there is no rule "stuck_marker" (did you mean stuck_markers?)`},
		{"a count for a share", "  rules:\n    - {name: failure_rate, limits: {warning: 5}}", `test.yaml:11: alerts.rules[0].limits.warning: "5" has the wrong unit; the rule judges a percentage`},
		{"a share for a count", "  rules:\n    - {name: stuck_markers, limits: {severe: 5%}}", `alerts.rules[0].limits.severe: "5%" has a unit, and the rule counts`},
		{"a limit that is no amount", "  rules:\n    - {name: stuck_markers, limits: {severe: many}}", `test.yaml:11: alerts.rules[0].limits.severe: "many" is no limit`},
		{"a limit that a pipeline has", "  rules:\n    - {name: duplicate_rate, limits: {warning: 5%}}", "test.yaml:11: alerts.rules[0].limits: "},
		{"limits that fall", "  rules:\n    - {name: stuck_markers, limits: {warning: 20}}", "alerts.rules[0].limits: severe (10) is below warning (20)"},
		{"the second variant of a rule", "  rules:\n    - {name: backlog, match: {team: a}, limits: {warning: 1}}\n    - {name: backlog, match: {team: b}, limits: {warning: 1}, unit: hours}", "test.yaml:12: alerts.rules[1].unit: "},
		{"a rule given twice", "  rules:\n    - {name: backlog, limits: {warning: 1}}\n    - {name: backlog, limits: {warning: 1}}", "it is given twice for the same labels"},
		{"an unknown tier in for", "  rules:\n    - {name: stuck_markers, for: {sever: 1m}}", "test.yaml:11: alerts.rules[0].for.sever: unknown key; did you mean severe?"},
		{"a time without a unit", "  rules:\n    - {name: stuck_markers, for: 5}", `test.yaml:11: alerts.rules[0].for: "5" is not a span of time`},
		{"a policy that there is not", "  rules:\n    - {name: stuck_markers, no_data: panic}", "alerts.rules[0].no_data: "},
		{"a channel of no type", "  channels:\n    - {name: a, type: pigeon}", "test.yaml:11: alerts.channels[0].type: must be one of"},
		{"a channel without a name", "  channels:\n    - {type: webhook, url: \"https://hunter.example.com/hunter2\"}", "alerts.channels[0].name"},
		{"two channels of one name", pager[:len(pager)-1] + ", {name: pager, type: slack, url: \"https://hooks.slack.com/services/hunter2/a/b\"}]", `alerts.channels[1].name: "pager" is already the name`},
		{"a route to nowhere", "  routes:\n    - {channels: [nobody]}" + pager, "test.yaml:11: alerts.routes[0].channels"},
		{"a route of no tier", "  routes:\n    - {tiers: [normal], channels: [pager]}" + pager, `test.yaml:11: alerts.routes[0].tiers[0]: "normal" is no tier that fires`},
		{"a heartbeat to no address", "  heartbeat: {url: \"hunter2\"}", "test.yaml:10: alerts.heartbeat.url: "},
		{"a heartbeat whose variable is empty", "  heartbeat: {url: \"\"}", "test.yaml:10: alerts.heartbeat.url: is empty"},
		{"a route that names nobody", "  routes:\n    - {tiers: [severe]}" + pager, "test.yaml:11: alerts.routes[0].channels: is missing"},
		{"a route that hides the next one", "  routes:\n    - {channels: [pager]}\n    - {tiers: [severe], channels: []}" + pager, "test.yaml:11: alerts.routes[0]: takes every alert"},
		{"a group by tier", "  group: {by: [rule, tier]}", `test.yaml:10: alerts.group.by[1]: alerts cannot be grouped by tier: `},
		{"a group by a label that there is not", "  group: {by: [rule, pipline]}", `test.yaml:10: alerts.group.by[1]: no alert has the label "pipline"`},
		{"a runbook that the program does not hold", "  rules:\n    - {name: stuck_markers, runbook: docs/nope.md}", "test.yaml:11: alerts.rules[0].runbook: there is no page docs/nope.md"},
		{"a min_count of nothing", "  rules:\n    - {name: failure_rate, min_count: 0}", "test.yaml:11: alerts.rules[0].min_count: must be 1 or more"},
		{"a tier that is never left", "  rules:\n    - {name: failure_rate, limits: {leave: 0%}}", "test.yaml:11: alerts.rules[0].limits.leave: must be above 0%"},
		{"an empty entry", "  rules:\n    - {name: stuck_markers}\n    -\n", "test.yaml:12: alerts.rules[1]: is empty"},
		{"a channel with the name of the heartbeat", "  channels: [{name: heartbeat, type: slack, url: \"https://hooks.slack.com/services/hunter2/a/b\"}]", `alerts.channels[0].name: "heartbeat" is what pages call`},
		{"a negative time", "  group: {wait: -5s}", "alerts.group.wait: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("test.yaml", []byte(minimal+"\nalerts:\n"+tt.section))
			var problems Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error is\n%v\nwant it to contain %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}
