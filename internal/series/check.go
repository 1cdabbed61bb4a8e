package series

import (
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// maxQueryBytes bounds the text of one expression: nobody can read a longer one.
const maxQueryBytes = 16 << 10

// CheckQuery reports what is wrong with a PromQL expression that Query is to evaluate, as an error of kind invalid: its syntax, with
// line and column, and whether it gives one value per series at one time.
func CheckQuery(promql string) error {
	if len(promql) > maxQueryBytes {
		return invalid(fmt.Sprintf("The PromQL expression has %d bytes, more than %d", len(promql), maxQueryBytes))
	}
	expr, err := newParser().ParseExpr(promql)
	if err != nil {
		return invalid("The PromQL expression is wrong: " + err.Error())
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
	expr, err := newParser().ParseExpr(promql)
	if err != nil {
		return nil
	}
	var names []string
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		for _, m := range s.LabelMatchers {
			if m.Name == nameLabel && m.Type == labels.MatchEqual && !slices.Contains(Stored(), m.Value) {
				names = append(names, m.Value)
			}
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}
