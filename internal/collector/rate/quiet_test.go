package rate

import (
	"testing"
	"time"

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
		if got := Fresher(tt.fresh, tt.quiet, time.Time{}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAWindowMovesOnWhereANewerEndTellsANumber(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ends := func(second int, q dedup.Quality, low, value, high float64) dedup.Figure {
		return dedup.Figure{Quality: q, Low: low, Value: value, High: high, N: 5000, At: began.Add(time.Duration(second) * time.Second)}
	}
	number, wide, bound := ends(20, dedup.Derived, 0.02, 0.025, 0.03), ends(20, dedup.QualityUnknown, 0.01, 0.025, 0.04), ends(20, dedup.Derived, 0, 0, 0.03)
	quiet := ends(12, dedup.Derived, 0.024, 0.025, 0.026)
	for name, tt := range map[string]struct {
		fresh  dedup.Figure
		before int
		want   bool
	}{
		"the quiet end was the one before":       {number, 12, true},
		"a later one was":                        {number, 14, true},
		"an earlier one was":                     {number, 11, false},
		"the newer end is too wide for a number": {wide, 12, false},
		"the newer end tells a bound alone":      {bound, 12, false},
	} {
		if got := Fresher(tt.fresh, quiet, began.Add(time.Duration(tt.before)*time.Second)); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
