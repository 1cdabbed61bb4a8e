package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testRulesOn runs the command on a file with this text, and returns what it prints, its error and whether that is one of usage.
func testRulesOn(t *testing.T, text string, flags ...string) (string, error, bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems output
	err := testRules(t.Context(), append(flags, path), streams{nil, &out, &problems})
	var wrong *unusableError
	if problems.String() != "" {
		t.Errorf("the command itself wrote %q", problems.String())
	}
	return out.String(), err, errors.As(err, &wrong)
}

const holdingTest = `
tests:
  - name: holds
    series: [{series: 'duplicate_rate{pipeline="orders"}', values: 5%x20}]
    expect: [{at: 2m, alerts: [{rule: duplicate_rate, pipeline: orders, tier: severe}]}]
`

func TestTestRulesTellsWhetherTestsHold(t *testing.T) {
	const hold = "rules.yaml: 1 of 1 tests hold, the alerts were looked at 1 times\n"
	if out, err, _ := testRulesOn(t, holdingTest); err != nil || !strings.HasSuffix(out, hold) {
		t.Errorf("a test that holds: %v\n%s", err, out)
	}
	failing := strings.Replace(holdingTest, "at: 2m", "at: 1m45s", 1)
	out, err, usage := testRulesOn(t, failing)
	if err == nil || usage || err.Error() != "1 of 1 tests fail" {
		t.Errorf("a test that fails: %v", err)
	}
	for _, want := range []string{"rules.yaml:5: holds, at 1m45s: duplicate_rate of pipeline orders",
		"\n  expected severe\n  got      normal since 0s, pending severe since 0s", "0 of 1 tests hold"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

func TestTestRulesRefusesWhatItCannotRead(t *testing.T) {
	_, err, usage := testRulesOn(t, strings.Replace(holdingTest, "tier", "teir", 1))
	if !usage || !strings.Contains(err.Error(), `rules.yaml:5: an alert has no key "teir"`) {
		t.Errorf("a key that is not known: %v", err)
	}
	none := filepath.Join(t.TempDir(), "none.yaml")
	if _, err, usage := testRulesOn(t, holdingTest, "-config", none); !usage || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a configuration that is not there: %v", err)
	}
	if _, err, usage := testRulesOn(t, holdingTest, none); !usage || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("tests that are not there: %v", err)
	}
	for _, args := range [][]string{nil, {"-h"}, {"-rules", "x"}, {"x.yaml", "-config", "y.yaml"}} {
		var wrong *unusableError
		if err := testRules(t.Context(), args, streams{}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), testRulesUsage) {
			t.Errorf("%q: %v, want how to call it", args, err)
		}
	}
}

// configured writes a configuration with a section of alerts, and returns its path.
func configured(t *testing.T, section string) string {
	t.Helper()
	path := writeConfig(t, "127.0.0.1:0", t.TempDir())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, section...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTestRulesTakesTheLimitsOfTheConfiguration(t *testing.T) {
	path := configured(t, "alerts: {limits: {duplicate_rate: {severe: 6%}}}\n")
	out, err, usage := testRulesOn(t, holdingTest, "-config", path)
	if err == nil || usage || !strings.Contains(out, "got      warning since 2m") {
		t.Errorf("%v\n%s", err, out)
	}
	_, err, usage = testRulesOn(t, strings.ReplaceAll(holdingTest, `"orders"`, `"emails"`), "-config", path)
	if !usage || !strings.Contains(err.Error(), `the configuration has no pipeline "emails"`) {
		t.Errorf("a pipeline that the configuration does not have: %v", err)
	}
}

func TestTestRulesTestsTheRulesOfTheConfiguration(t *testing.T) {
	path := configured(t, `
alerts:
  rules:
    - {name: backlog, limits: {warning: 1000}, for: 30s}
    - {name: few-consumers, expr: 5 - dedup_queue_consumers, limits: {severe: 3}, for: 0s}
`)
	const text = `
tests:
  - name: a backlog, and consumers that leave
    series:
      - {series: 'ready{pipeline="orders"}', values: 1000x20}
      - {series: 'dedup_queue_consumers{pipeline="orders"}', values: 5x7 2x20}
    expect:
      - {at: 15s, alerts: []}
      - {at: 30s, alerts: [{rule: backlog, pipeline: orders, tier: warning}]}
      - at: 2m
        alerts: [{rule: backlog, pipeline: orders, tier: warning}, {rule: few-consumers, pipeline: orders, tier: severe}]
`
	if out, err, _ := testRulesOn(t, text, "-config", path); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err, usage := testRulesOn(t, text); !usage || !strings.Contains(err.Error(), `there is no rule "few-consumers"`) {
		t.Errorf("without the configuration: %v", err)
	}
}
