package series

import (
	"maps"
	"slices"
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

func TestAnExpressionSelectsTheSeriesThatItsSelectorsName(t *testing.T) {
	const ready = "dedup_queue_ready_messages"
	for _, tt := range []struct {
		expr, name string
		want       bool
	}{
		{ready + " > 0", ready, true},
		{ready + " > 0", "queue_ready", false},
		{ready + " > 0", ready + "_total", false},
		{`sum by (pipeline) (increase(shop_refused_total{kind="web"}[15m])) / shop_orders_total offset 1h`, "shop_refused_total", true},
		{`sum by (pipeline) (increase(shop_refused_total{kind="web"}[15m])) / shop_orders_total offset 1h`, "shop_orders_total", true},
		{`sum by (pipeline) (increase(shop_refused_total{kind="web"}[15m]))`, "pipeline", false},
		{`max_over_time(rate(shop_orders_total[5m])[1h:5m])`, "shop_orders_total", true},
		{`{__name__=~"dedup_queue_.*", pipeline="orders"}`, ready, true},
		{`{__name__=~"dedup_queue_.*"}`, "shop_dedup_queue_ready", false},
		{`{__name__!="x", pipeline="orders"}`, "x", false},
		{`{pipeline="orders"}`, ready, true},
		{`{"` + ready + `"}`, ready, true},
		{`label_replace(up, "x", "dead_letters", "y", ".*")`, "dead_letters", false},
		{"time() > bool 0", "time", false},
	} {
		if got, err := Selects(tt.expr, tt.name); err != nil || got != tt.want {
			t.Errorf("Selects(%s, %s) = %v, %v, want %v", tt.expr, tt.name, got, err, tt.want)
		}
	}
	if _, err := Selects("sum(", "x"); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("an expression that is wrong: %v", err)
	}
}

func TestASeriesThatNobodyStoresIsNamed(t *testing.T) {
	for _, tt := range []struct {
		promql string
		want   []string
	}{
		{"sum by (pipeline) (dedup_queue_ready_messages)", nil},
		{"dedup_queue_ready + up - up", []string{"dedup_queue_ready", "up"}},
		{`{__name__="nothing", a="b"} or {__name__=~"dedup_.*"}`, []string{"nothing"}},
		{"time() - 5", nil},
		{"sum((", nil},
	} {
		if got := Unstored(tt.promql); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.promql, got, tt.want)
		}
	}
	if all := slices.Sorted(maps.Keys(defined(t))); !slices.Equal(slices.Sorted(slices.Values(Stored())), all) {
		t.Errorf("Stored gives %v, metrics.go has %v", Stored(), all)
	}
}
