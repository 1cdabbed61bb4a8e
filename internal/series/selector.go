package series

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/dedup"
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
func Selector(name string, labels map[string]string) string {
	var parts []string
	if !isIdentifier(name) {
		parts, name = append(parts, Quote(name)), ""
	}
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		key := l
		if !isIdentifier(l) {
			key = Quote(l)
		}
		parts = append(parts, key+"="+Quote(labels[l]))
	}
	if len(parts) == 0 {
		return name
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}

// Check reports what is wrong with a PromQL expression, as an error of kind invalid.
func Check(promql string) error {
	if _, err := newParser().ParseExpr(promql); err != nil {
		return &dedup.Error{Kind: dedup.Invalid, Public: "The PromQL expression is wrong: " + err.Error()}
	}
	return nil
}
