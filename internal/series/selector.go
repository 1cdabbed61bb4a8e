package series

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// nameLabel is the label under which Prometheus keeps the name of a metric.
const nameLabel = "__name__"

// maxQueryBytes bounds the text of one expression: nobody can read a longer one.
const maxQueryBytes = 16 << 10

// Quote returns a label value as a PromQL string literal, whatever the value holds.
func Quote(v string) string {
	// PromQL takes the replacement character for broken text, unless it is escaped.
	return strings.ReplaceAll(strconv.Quote(labelValue(v)), "\uFFFD", `\ufffd`)
}

// CheckQuery reports what is wrong with a PromQL expression that Query is to evaluate, as an error of kind invalid: its syntax, with
// line and column, and whether it gives one value per series at one time.
func CheckQuery(promql string) error {
	if len(promql) > maxQueryBytes {
		return invalid(fmt.Sprintf("The PromQL expression has %d bytes, more than %d", len(promql), maxQueryBytes))
	}
	expr, err := parse(promql)
	if err != nil {
		return err
	}
	switch t := expr.Type(); t {
	case parser.ValueTypeVector, parser.ValueTypeScalar:
		return nil
	default:
		return invalid("The PromQL expression gives a " + parser.DocumentedType(t) +
			"; it must give one value per series at one time, as rate, delta or max_over_time do of a range")
	}
}

// Unstored returns the names that selectors of a PromQL expression ask for and that nobody stores, sorted: they never have a value.
// An expression that is wrong has none.
func Unstored(promql string) []string {
	all, _ := matchers(promql)
	var names []string
	for _, m := range slices.Concat(all...) {
		if m.Name == nameLabel && m.Type == labels.MatchEqual && !slices.Contains(Stored(), m.Value) {
			names = append(names, m.Value)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Selects reports whether some selector of a PromQL expression takes series of this name, whatever labels they have. Its error is
// that of an expression that is wrong, of kind invalid.
func Selects(promql, name string) (bool, error) {
	all, err := matchers(promql)
	refuses := func(m *labels.Matcher) bool { return m.Name == nameLabel && !m.Matches(name) }
	return slices.ContainsFunc(all, func(selector []*labels.Matcher) bool { return !slices.ContainsFunc(selector, refuses) }), err
}

// matchers returns those of each selector of a PromQL expression.
func matchers(promql string) ([][]*labels.Matcher, error) {
	expr, err := parse(promql)
	if err != nil {
		return nil, err
	}
	return parser.ExtractSelectors(expr), nil
}

func parse(promql string) (parser.Expr, error) {
	expr, err := newParser().ParseExpr(promql)
	if err != nil {
		return nil, invalid("The PromQL expression is wrong: " + err.Error())
	}
	return expr, nil
}
