package metrics

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// exposed returns the name of every metric of ours that /metrics can show, with its labels.
func exposed(t *testing.T) map[string]string {
	t.Helper()
	c := newSnapshotCollector(nil, nil)
	all := []*prometheus.Desc{c.round, c.roundAt, c.tier, c.risk, c.up, c.success, c.took, c.miss, c.rateInfo, c.markers, c.deadLetters, c.shared, c.sharedFlow, c.sharers, c.judged, c.findings}
	a := newAlertCollector(Deps{})
	all = append(all, a.firing, a.evaluated, a.took, a.failed, a.waiting, a.oldest, a.delivered)
	fields := 0
	for i := range reflect.TypeOf(*c).NumField() {
		if reflect.TypeOf(*c).Field(i).Type == reflect.TypeFor[*prometheus.Desc]() {
			fields++
		}
	}
	for i := range reflect.TypeOf(*a).NumField() {
		if reflect.TypeOf(*a).Field(i).Type == reflect.TypeFor[*prometheus.Desc]() {
			fields++
		}
	}
	if fields != len(all) {
		t.Fatalf("the collector has %d metrics, and this test lists %d: add the new one", fields, len(all))
	}
	for _, w := range c.windows {
		all = append(all, w.desc)
	}
	for _, i := range c.instants {
		all = append(all, i.desc)
	}
	reg := regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z_,]*)\}`)
	names := map[string]string{}
	for _, d := range all {
		m := reg.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		names[m[1]] = m[2]
	}
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`Name: "(dedup_dashboard_[a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
		names[m[1]] = ""
	}
	return names
}

// TestEveryMetricIsInTheTableOfTheDocumentation compares /metrics with docs/api.md, both ways and with the labels.
func TestEveryMetricIsInTheTableOfTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(doc), "\n## GET /metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !ok {
		t.Fatal("docs/api.md has no section GET /metrics")
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*\x60dedup_.*) \| (.*?) ?\|$`).FindAllStringSubmatch(section, -1) {
		labels := regexp.MustCompile(`\(.*?\)`).ReplaceAllString(row[2], "")
		for _, name := range regexp.MustCompile("`(dedup_[a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			documented[name[1]] = strings.ReplaceAll(strings.TrimSpace(labels), ", ", ",")
		}
	}
	names := exposed(t)
	if len(names) < 25 {
		t.Fatalf("only %d metrics found in the code", len(names))
	}
	for name, labels := range names {
		got, there := documented[name]
		switch {
		case !there:
			t.Errorf("docs/api.md has no line for %s", name)
		case strings.HasPrefix(name, "dedup_dashboard_"), strings.HasPrefix(got, "pipeline,tier or risk"):
		case got != labels:
			t.Errorf("docs/api.md gives %s the labels %q, and it has %q", name, got, labels)
		}
	}
	for name := range documented {
		if _, there := names[name]; !there {
			t.Errorf("docs/api.md has a line for %s, which /metrics does not know", name)
		}
	}
}
