package window

import (
	"testing"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

func TestNobodyIsToldToBringBackAStoreThatThereIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		scheme dedup.Scheme
		better string
	}{
		"a pipeline without a store": {dedup.Scheme{}, rate.BetterReport},
		"a store that is down":       {dedup.Scheme{Kind: "redis-string"}, BetterStore},
	} {
		if v := (View{Scheme: c.scheme, StoreDown: "it is not there"}); v.advice(rate.ReportedResult{}) != c.better {
			t.Errorf("%s: %q", name, v.advice(rate.ReportedResult{}))
		}
	}
}
