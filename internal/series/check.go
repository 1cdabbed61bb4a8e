package series

import (
	"fmt"

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
