package rate

import (
	"testing"

	"dedup-dashboard/internal/dedup"
)

// TestANewerEndIsWorthALittleWidth and no loss of quality.
func TestANewerEndIsWorthALittleWidth(t *testing.T) {
	of := func(q dedup.Quality, n, low, high float64) dedup.Figure {
		return dedup.Figure{Quality: q, Low: low, Value: (low + high) / 2, High: high, N: n}
	}
	bound := of(dedup.Derived, 5000, 0, 0.012)
	bound.Value = 0
	for name, tt := range map[string]struct {
		fresh, quiet dedup.Figure
		want         bool
	}{
		"a little wider":                 {of(dedup.Derived, 5000, 0.02, 0.028), of(dedup.Derived, 5000, 0.02, 0.026), true},
		"much wider":                     {of(dedup.Derived, 5000, 0.02, 0.03), of(dedup.Derived, 5000, 0.02, 0.026), false},
		"much wider, of few":             {of(dedup.Derived, 200, 0.003, 0.023), of(dedup.Derived, 200, 0.011, 0.015), false},
		"too few for a tier":             {of(dedup.Derived, 40, 0.02, 0.1), of(dedup.Derived, 40, 0.03, 0.05), true},
		"of lesser quality":              {of(dedup.Derived, 5000, 0.02, 0.0225), of(dedup.Measured, 5000, 0.02, 0.022), false},
		"of better quality":              {of(dedup.Measured, 5000, 0.02, 0.0218), of(dedup.Derived, 5000, 0.02, 0.022), true},
		"too wide to be judged":          {of(dedup.QualityUnknown, 5000, 0.02, 0.041), of(dedup.Derived, 5000, 0.02, 0.036), false},
		"both too wide":                  {of(dedup.QualityUnknown, 5000, 0.02, 0.05), of(dedup.QualityUnknown, 5000, 0.02, 0.045), true},
		"a bound in place of a number":   {bound, of(dedup.Derived, 5000, 0.001, 0.011), false},
		"refused":                        {dedup.Unknown(dedup.Ratio, "others ask too"), of(dedup.Derived, 5000, 0.02, 0.026), false},
		"refused where the end is quiet": {of(dedup.Derived, 5000, 0.02, 0.026), dedup.Unknown(dedup.Ratio, "others ask too"), false},
	} {
		if got := Fresher(tt.fresh, tt.quiet); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
