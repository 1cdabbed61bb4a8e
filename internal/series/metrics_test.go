package series

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

// defined returns the metrics of metrics.go: name of the constant by name of the metric.
func defined(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "metrics.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			lit, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || !name.IsExported() {
				t.Fatalf("%s is not an exported metric name", name.Name)
			}
			metric, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if out[metric] != "" {
				t.Errorf("%s and %s are the same metric", out[metric], name.Name)
			}
			out[metric] = name.Name
		}
		return true
	})
	for _, g := range dedup.Gauges() {
		if out[g.Metric] != "" {
			t.Errorf("%s and the gauge %s are the same metric", out[g.Metric], g.Name)
		}
		out[g.Metric] = string(g.Name)
	}
	return out
}

// documented returns the table of docs/metrics.md: the cells of a row by name of the metric.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]string)
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|(.*)\\|$").FindAllStringSubmatch(string(text), -1) {
		var cells []string
		for _, c := range strings.Split(m[2], " | ") {
			cells = append(cells, strings.TrimSpace(c))
		}
		if out[m[1]] != nil {
			t.Errorf("docs/metrics.md lists %s twice", m[1])
		}
		out[m[1]] = cells
	}
	return out
}

func TestEveryMetricIsDocumentedAndNothingElseIs(t *testing.T) {
	code, docs := defined(t), documented(t)
	if len(code) == 0 {
		t.Fatal("metrics.go defines nothing")
	}
	for metric, constant := range code {
		if docs[metric] == nil {
			t.Errorf("%s (%s) is missing in docs/metrics.md", constant, metric)
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(docs)) {
		if code[metric] == "" {
			t.Errorf("docs/metrics.md lists %s, which metrics.go does not define", metric)
		}
	}
}

func TestMetricsFollowTheConventionsOfPrometheus(t *testing.T) {
	for metric, cells := range documented(t) {
		if len(cells) != 5 || slices.Contains(cells, "") {
			t.Errorf("%s: want type, unit, labels, source and meaning, got %q", metric, cells)
			continue
		}
		kind, unit := cells[0], cells[1]
		if (kind == "counter") != isCounter(metric) || kind != "counter" && kind != "gauge" {
			t.Errorf("%s: its type is %s, its name says otherwise", metric, kind)
		}
		for word, suffix := range map[string]string{"seconds": "_seconds", "bytes": "_bytes", "ratio": "_ratio"} {
			if unit == word && !strings.Contains(metric, suffix) {
				t.Errorf("%s is in %s, its name does not say so", metric, unit)
			}
		}
		if !strings.HasPrefix(metric, "dedup_") {
			t.Errorf("%s does not begin with dedup_", metric)
		}
	}
}
