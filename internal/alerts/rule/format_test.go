package rule

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

func TestSpansAndValuesAreWrittenForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"0 s": Span(-time.Second), "45 s": Span(45 * time.Second), "2 m 5 s": Span(125 * time.Second), "1 h": Span(time.Hour),
		"24 h": Span(24 * time.Hour), "3 h 10 m": Span(190*time.Minute + 7*time.Second), "4 d 2 h": Span(98 * time.Hour), "15 m": Span(15 * time.Minute),
		"unknown": ValueText(math.NaN(), dedup.Ratio), "0.01 %": ValueText(0.0001, dedup.Ratio), "-4.62 %": ValueText(-0.0462, dedup.Ratio),
		"5 ms": ValueText(0.005, dedup.Seconds), "0.4 ms": ValueText(0.0004, dedup.Seconds), "0 ms": ValueText(0, dedup.Seconds),
		"1.20 s": ValueText(1.2, dedup.Seconds), "44 s": ValueText(44, dedup.Seconds), "66 s": ValueText(65.99, dedup.Seconds), "89.4 s": ValueText(89.36, dedup.Seconds), "2 m": ValueText(120, dedup.Seconds),
		"-5 s": ValueText(-5, dedup.Seconds), "-420 ms": ValueText(-0.42, dedup.Seconds), "-2 m 5 s": ValueText(-125, dedup.Seconds),
		"115,741 d": ValueText(1e10, dedup.Seconds), "24855 d 3 h": ValueText(math.MaxInt32, dedup.Seconds),
		"1,234,567": ValueText(1234567, dedup.Count), "-5": ValueText(-5, dedup.Count), "-123": ValueText(-123, dedup.Count), "-1,234": ValueText(-1234, dedup.Count),
		"2.50": ValueText(2.5, dedup.Count), "0.0004": ValueText(0.0004, dedup.Count), "0": ValueText(math.Copysign(0, -1), dedup.Count),
		"12.50 per hour": ValueText(12.5, dedup.PerHour), "1 GiB": ValueText(1<<30, dedup.Bytes), "900 B": ValueText(900, dedup.Bytes),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAValueBelowZeroReadsAsTheOneAboveWithItsSign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-3, 1e15).Draw(t, "value")
		for _, unit := range []dedup.Unit{dedup.Count, dedup.Ratio, dedup.Seconds, dedup.PerHour, dedup.Bytes} {
			above, below := ValueText(v, unit), ValueText(-v, unit)
			if below != "-"+above && below != above || strings.Contains(above, "-") || strings.Contains(above, " ,") {
				t.Fatalf("%g of unit %v: %q and %q", v, unit, above, below)
			}
		}
	})
}
