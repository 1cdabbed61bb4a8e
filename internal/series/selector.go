package series

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// nameLabel is the label under which Prometheus keeps the name of a metric.
const nameLabel = "__name__"

// Quote returns a label value as a PromQL string literal, whatever the value holds.
func Quote(v string) string {
	// PromQL takes the replacement character for broken text, unless it is escaped.
	return strings.ReplaceAll(strconv.Quote(labelValue(v)), "\uFFFD", `\ufffd`)
}

// Selector returns the PromQL selector of the series with this metric name and these labels, in a stable order:
// dedup_dead_letters{pipeline="orders",queue="orders.dlq"}. Names and values are quoted as needed, so they may come from
// anywhere. An empty value selects the series without that label.
func Selector(name string, with map[string]string) string {
	var parts []string
	if !isIdentifier(name) {
		parts, name = append(parts, Quote(name)), ""
	}
	for _, l := range slices.Sorted(maps.Keys(with)) {
		key := l
		if !isIdentifier(l) {
			key = Quote(l)
		}
		parts = append(parts, key+"="+Quote(with[l]))
	}
	if len(parts) == 0 {
		return name
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}

// Selects reports whether some selector of a PromQL expression takes series of this name, whatever labels they have. Its error is
// that of an expression that is wrong, of kind invalid.
func Selects(promql, name string) (bool, error) {
	expr, err := newParser().ParseExpr(promql)
	if err != nil {
		return false, invalid("The PromQL expression is wrong: " + err.Error())
	}
	found := false
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && !slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool {
			return m.Name == nameLabel && !m.Matches(name)
		}) {
			found = true
		}
		return nil
	})
	return found, nil
}
