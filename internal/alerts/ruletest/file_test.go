package ruletest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

func TestEveryMistakeInAFileHasItsLineAndSaysHowToMendIt(t *testing.T) {
	const text = `interval: 15
test: []
tests:
  - name: one
    serie: []
    series:
      - {series: 'duplicate_rat{pipeline="orders"}', values: 1y}
      - {series: 'redelivery_loop{pipeline="orders"}', values: 1}
      - {series: 'duplicate_rate{queue="orders"}', values: 1}
      - {series: 'duplicate_rate{pipeline="orders", window="2h"}', values: 5}
      - {series: 'duplicate_rate{pipeline="orders"}', values: 1%x, n: -1}
      - {series: 'duplicate_rate{pipeline="orders"}', values: 100ms, n: 5x3, n: 6}
      - {series: 'duplicate_rate{pipeline=orders}', values: 1}
      - {series: 'node_down{broker="main"}', values: 0.5 2000, n: 5}
      - {series: 'dead_letters{pipeline="orders", team="x"}', values: -1 stale}
      - {series: 'disk_used', values: error}
      - {series: 'finding{pipeline="orders", kind="looping"}', values: 1}
      - {values: 1}
    expect:
      - {at: 10s, alerts: []}
      - {at: 2y, alerts: []}
      - {at: 9223372036s, alerts: []}
      - {at: 2m}
      - at: 3m
        alerts:
          - {rule: duplicate, pipeline: orders, tier: warning}
          - {rule: duplicate_rate, tier: warning}
          - {rule: duplicate_rate, pipeline: emails, tier: warning}
          - {rule: duplicate_rate, pipeline: orders, tier: critical, phase: up, health: bad, pending: normal}
          - {rule: watchdog, broker: main, tier: warning}
          - {rule: watchdog, tier: warning}
          - {rule: watchdog, tier: warning}
  - name: one
    pipelines:
      - {name: orders, limits: {duplicate_rate: {warning: 5}, window: 15m}}
      - {name: orders}
      - {name: emails, limits: {duplicate_rate: {warning: 5%}, min_messages: 0}}
    series: &all []
    expect: *all
`
	_, err := Parse("rules.yaml", []byte(text), Setup{Rules: rulesWith(t)})
	var found Problems
	if !errors.As(err, &found) {
		t.Fatalf("got %v, want problems", err)
	}
	want := []string{
		`1: interval: "15" is no span of time; write it with its unit`,
		`2: the file has no key "test"; the keys are interval, tests`,
		`5: a test has no key "serie"; the keys are name, pipelines, series, expect`,
		`7: series: duplicate_rat is no measure, and no rule asks for it by PromQL; the measures are ack_latency, `,
		`7: values: "1y" is no value`,
		`8: series: redelivery_loop is the name of a rule, which judges the measure looping; write that`,
		`9: series: duplicate_rate does not say whose it is; write duplicate_rate{pipeline="..."}`,
		`10: series: "2h" is no window; write 5m, 15m, 1h or 24h`,
		`10: values: 5: duplicate_rate is a ratio and at most 1; write it in percent, as in 5%`,
		`11: values: "1%x" is no value`,
		`11: n: -1: write how many events there are, from 0 on`,
		`12: a series has the key n twice; keep one`,
		`12: series: duplicate_rate stands twice in the test; join the two`,
		`12: values: 100ms: duplicate_rate is no ratio and no time with that unit, but in ratio`,
		`13: series: "pipeline=orders" are no labels; write a name and its labels`,
		`14: values: 0.5: node_down is a whole number up to 1000`,
		`14: values: 2000: node_down is a whole number up to 1000`,
		`14: n: node_down rests on no number of events; leave n out`,
		`15: series: dead_letters takes no label team here; leave it out`,
		`15: values: -1: dead_letters is never negative`,
		`15: values: stale: only a series of the history ends; write _ for no data`,
		`16: values: error: it has no source that fails; write _ for no data`,
		`17: series: a finding has a kind and a tier`,
		`18: a series lacks series`,
		`20: at: rules are evaluated every 15s, and not at 10s; write 0s or 15s`,
		`21: at: "2y" is no span of time`,
		`22: at: 2562047h47m16s is beyond 100000 evaluations; write an earlier time, or a longer interval`,
		`23: an entry of expect lacks alerts`,
		`26: rule: there is no rule "duplicate"; the rules are ack_latency, `,
		`27: rule duplicate_rate judges one pipeline: name that, and nothing else`,
		`28: no series of the test names the pipeline "emails", nor is it listed under pipelines`,
		`29: tier: "critical" is none; write normal, warning, severe, emergency`,
		`29: pending: "normal" is none; write none, warning, severe, emergency`,
		`29: phase: "up" is none`,
		`29: health: "bad" is none`,
		`30: rule watchdog judges the dashboard; leave broker out`,
		`32: the alert watchdog is listed twice; keep one`,
		`33: name: "one" is that of the test on line 4, too`,
		`35: warning: write one number, as in 3%`,
		`36: name: the pipeline has none, or is described twice`,
		`37: limits: duplicate_rate: limits must rise`,
		`37: limits: min_messages: must be 1 or more`,
		`39: expect must be a list; write [] for none; write it out, since *all is not followed`,
	}
	for i := range max(len(found), len(want)) {
		switch {
		case i >= len(found):
			t.Errorf("not said: %s", want[i])
		case i >= len(want) || !strings.HasPrefix(found[i].Error(), "rules.yaml:"+want[i]):
			t.Errorf("said: %s", found[i].Error())
			if i < len(want) {
				t.Errorf("want: %s", want[i])
			}
		}
	}
}

func TestAFileThatHoldsNoTestsSaysSo(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "f: the file is empty; write tests: and a list of tests"},
		{"tests: [", "f:1: this is no YAML: "},
		{"a: b: c", "f:1: this is no YAML: mapping values are not allowed"},
		{"- 1", "f:1: the file must be a group of keys: interval, tests"},
		{"interval: 15s", "f:1: the file lacks tests"},
		{"tests: []", "f:1: tests: there is none; write at least one"},
		{"tests: [1]", "f:1: a test must be a group of keys: name, pipelines, series, expect"},
		{"tests: [{name: a, expect: []}]", "f:1: expect: it is empty; write at least one time"},
		{"tests: [{name: a, expect: [{at: 0s, alerts: []}]}]\n---\na: 1", "f: something stands after the YAML document"},
		{"interval: 10m\ntests: [{name: a, expect: [{at: 0s, alerts: []}]}]", "f:1: interval: 10m is not within 1s and 5m"},
	} {
		_, err := Parse("f", []byte(tt.text), Setup{Rules: rulesWith(t)})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestWithAConfigurationAPipelineHasItsLimitsAndAnUnknownOneIsAMistake(t *testing.T) {
	strict := dedup.DefaultLimits()
	strict.DuplicateWarning = 0.001
	setup := Setup{Rules: rulesWith(t), Pipelines: []dedup.Pipeline{{Name: "orders", Limits: strict}}}
	const text = `
tests:
  - name: the limit of the configuration holds
    series: [{series: 'duplicate_rate{pipeline="orders"}', values: 0.2%x20}]
    expect: [{at: 2m, alerts: [{rule: duplicate_rate, pipeline: orders, tier: warning}]}]
  - name: the limit of the test stands over it
    pipelines: [{name: orders, max_processing: 2d, limits: {duplicate_rate: {warning: 0.5%}}}]
    series: [{series: 'duplicate_rate{pipeline="orders"}', values: 0.2%x20}]
    expect: [{at: 2m, alerts: []}]
`
	for _, f := range run(t, parsed(t, text, setup)) {
		t.Error(f)
	}
	_, err := Parse("f", []byte(strings.ReplaceAll(text, `pipeline="orders"`, `pipeline="order"`)), setup)
	if err == nil || !strings.Contains(err.Error(), `f:4: series: the configuration has no pipeline "order"`) {
		t.Errorf("got %v", err)
	}
}

func parsed(t *testing.T, text string, setup Setup) *File {
	t.Helper()
	f, err := Parse("rules.yaml", []byte(text), setup)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAFailureTellsWhereWhenWhatWasExpectedAndWhatWas(t *testing.T) {
	const text = `tests:
  - name: too early
    series:
      - {series: 'duplicate_rate{pipeline="orders"}', values: 0.5%x3 2%x8 3%x20, n: 1000}
      - {series: 'duplicate_rate{pipeline="emails"}', values: 5%x20, n: 1000}
    expect:
      - at: 3m30s
        alerts:
          - {rule: duplicate_rate, pipeline: orders, tier: severe, pending: none, phase: firing, health: ok}
          - {rule: backlog, pipeline: orders, tier: normal}
`
	failures := run(t, parsed(t, text, Setup{Rules: rulesWith(t)}))
	want := []string{
		"rules.yaml:9: too early, at 3m30s: duplicate_rate of pipeline orders\n" +
			"  expected severe, pending none, phase firing, health ok\n" +
			"  got      warning since 3m, pending severe since 3m15s, phase firing, health ok, value 3%, limit 3%: " +
			"duplicate rate 3.00 %, at or above the severe limit of 3.00 % (30 of 1,000 messages in 15 m)",
		"rules.yaml:10: too early, at 3m30s: backlog of pipeline orders\n" +
			"  expected normal\n  got      no alert: the rule is switched off, or does not judge this pipeline",
		"rules.yaml:7: too early, at 3m30s: duplicate_rate of pipeline emails\n" +
			"  expected normal, since it is not listed\n" +
			"  got      severe since 2m, phase firing, health ok, value 5%, limit 3%: " +
			"duplicate rate 5.00 %, at or above the severe limit of 3.00 % (50 of 1,000 messages in 15 m)",
	}
	for i := range max(len(failures), len(want)) {
		if i >= len(failures) || i >= len(want) || failures[i].String() != want[i] {
			t.Fatalf("got\n%v\nwant\n%v", failures, want)
		}
	}
}

func TestRulesInPromQLAskTheSeriesOfTheTest(t *testing.T) {
	rules := rulesWith(t,
		rule.Rule{Name: "many_waiting", Expr: `dedup_queue_ready_messages > 0`, Limits: rule.Limits{Warning: rule.Limit(100)}},
		rule.Rule{Name: "refused", Numerator: `sum by (pipeline) (increase(shop_refused_total[$window]))`,
			Denominator: `sum by (pipeline) (increase(shop_orders_total[$window]))`, MinCount: 50,
			Limits: rule.Limits{Severe: rule.Limit(0.05)}, Timing: rule.Timing{Severe: rule.AtOnce}})
	const text = `tests:
  - name: a queue that fills, ends, and comes back
    pipelines: [{name: orders, store: markers}]
    series:
      - {series: 'dedup_queue_ready_messages{pipeline="orders"}', values: 99x3 100x20 stale _x39 5x40}
      - {series: 'source_unreachable{store="markers"}', values: 0sx25 15s 0sx100}
    expect:
      - {at: 2m45s, alerts: [{rule: many_waiting, pipeline: orders, tier: normal, pending: warning}]}
      - {at: 3m, alerts: [{rule: many_waiting, pipeline: orders, tier: warning, health: ok}]}
      - {at: 6m15s, alerts: [{rule: many_waiting, pipeline: orders, tier: warning, health: no data}]}
      - {at: 6m30s, alerts: [{rule: many_waiting, pipeline: orders, tier: warning, health: error}]}
      - {at: 21m, alerts: [{rule: many_waiting, pipeline: orders, tier: warning, phase: recovering}]}
      - {at: 21m15s, alerts: []}
  - name: a ratio
    series:
      - {series: 'shop_orders_total{pipeline="orders", kind="web"}', values: 0+10x100}
      - {series: 'shop_refused_total{pipeline="orders"}', values: 0+0x40 1+1x60}
    expect:
      - {at: 10m, alerts: []}
      - {at: 25m, alerts: [{rule: refused, pipeline: orders, tier: severe, health: ok}]}
`
	for _, f := range run(t, parsed(t, text, Setup{Rules: rules})) {
		t.Error(f)
	}
}

func TestEvaluationsOfALongIntervalFireAsSoonAsTheyMay(t *testing.T) {
	const text = `interval: 5m
tests:
  - name: figures of the page, and of the dashboard itself
    series:
      - {series: 'duplicate_rate{pipeline="orders"}', values: 5%x1 0%x2}
      - {series: disk_used, values: 96%x1 0%x2}
    expect:
      - {at: 0s, alerts: []}
      - {at: 5m, alerts: [{rule: duplicate_rate, pipeline: orders, tier: severe}, {rule: disk_nearly_full, tier: severe}]}
      - {at: 10m, alerts: [{rule: duplicate_rate, pipeline: orders, tier: severe}, {rule: disk_nearly_full, tier: severe}]}
      - {at: 15m, alerts: []}
`
	for _, f := range run(t, parsed(t, text, Setup{Rules: rulesWith(t)})) {
		t.Error(f)
	}
}

func TestATestEndsWithItsContext(t *testing.T) {
	const text = `
tests:
  - name: long
    series: [{series: 'duplicate_rate{pipeline="orders"}', values: 1%x99000}]
    expect: [{at: 400h, alerts: []}]
`
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if failures, err := parsed(t, text, Setup{Rules: rulesWith(t)}).Run(ctx); !errors.Is(err, ctx.Err()) || failures != nil {
		t.Errorf("got %v, %v", failures, err)
	}
}

func TestASeriesThatNoPromQLSelectsIsAMistakeHoweverMuchOfANameItIs(t *testing.T) {
	rules := rulesWith(t, rule.Rule{Name: "many_waiting", Expr: `delta(dedup_queue_ready_messages[5m]) > 0`, Limits: rule.Limits{Warning: rule.Limit(100)}},
		rule.Rule{Name: "refused", Numerator: `increase(shop_refused_total[$window])`, Denominator: `{__name__=~"shop_orders.*"} offset $window`,
			MinCount: 50, Limits: rule.Limits{Severe: rule.Limit(0.05)}})
	for _, tt := range []struct {
		name  string
		asked bool
	}{
		{"dedup_queue_ready_messages", true}, {"queue_ready", false}, {"delta", false},
		{"shop_refused_total", true}, {"shop_refused", false}, {"shop_orders_total", true}, {"shops", false},
	} {
		text := fmt.Sprintf(`tests: [{name: a, series: [{series: '%s{pipeline="orders"}', values: 1}], expect: [{at: 0s, alerts: []}]}]`, tt.name)
		_, err := Parse("f", []byte(text), Setup{Rules: rules})
		if want := "f:1: series: " + tt.name + " is no measure, and no rule asks for it by PromQL"; (err == nil) != tt.asked || !tt.asked && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, asked for: %t", tt.name, err, tt.asked)
		}
	}
}
