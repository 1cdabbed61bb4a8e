package finding

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestTouchedMarkersAreAHintAndALowerBound(t *testing.T) {
	for name, tt := range map[string]struct {
		touched *dedup.Touched
		want    string
	}{
		"some":                  {&dedup.Touched{Sampled: 2000, Touched: 62}, "At least 3.1 % of 2,000 done markers were asked for again more than 3 s after they were done"},
		"all of one":            {&dedup.Touched{Sampled: 1, Touched: 1}, "At least 100.0 % of 1 done marker was asked for again more than 3 s after it was done"},
		"very few":              {&dedup.Touched{Sampled: 100_000, Touched: 3}, "At least 0.003 % of 100,000 done markers"},
		"none":                  {&dedup.Touched{Sampled: 2000}, ""},
		"it cannot be told":     {&dedup.Touched{Sampled: 2000, Touched: 9, Why: "a replica"}, ""},
		"another scheme":        {nil, ""},
		"counts that cannot be": {&dedup.Touched{Sampled: 1, Touched: 2}, ""},
	} {
		f := touchedAfterDone("orders", &dedup.Pass{Touched: tt.touched})
		switch {
		case tt.want == "" && f != nil:
			t.Errorf("%s: %+v", name, f)
		case tt.want != "" && (len(f) != 1 || f[0].Kind != "touched_after_done" || f[0].Tier != dedup.Normal || !strings.HasPrefix(f[0].Text, tt.want) || f[0].Remedy == ""):
			t.Errorf("%s: %+v", name, f)
		}
	}
	if touchedAfterDone("orders", nil) != nil {
		t.Error("a finding without a pass")
	}
}
