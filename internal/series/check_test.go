package series

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestAnExpressionIsCheckedBeforeItIsEvaluated(t *testing.T) {
	for _, tt := range []struct{ name, expr, want string }{
		{"a vector is fine", `sum by (pipeline) (dedup_dead_letters)`, ""},
		{"a scalar is fine", `1`, ""},
		{"a duration with leading zeros is one", `dedup_broker_acks_total - dedup_broker_acks_total offset 000015m`, ""},
		{"a syntax error names its place", `sum by (pipeline (dedup_dead_letters)`, "1:18"},
		{"on the second line too", "sum by (pipeline)\n  (dedup_dead_letters", "2:"},
		{"a range is not one value", `dedup_dead_letters[5m]`, "range vector"},
		{"text is not a value", `"text"`, "string"},
		{"an empty expression is wrong", "", "PromQL"},
		{"a very long one is refused", strings.Repeat("1+", maxQueryBytes) + "1", "bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckQuery(tt.expr)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("CheckQuery(%.60q) = %v, want nil", tt.expr, err)
			case tt.want != "" && (err == nil || dedup.KindOf(err) != dedup.Invalid || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("CheckQuery(%.60q) = %v, want an invalid expression that says %q", tt.expr, err, tt.want)
			}
		})
	}
}
