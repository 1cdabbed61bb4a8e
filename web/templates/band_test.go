package templates

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestANumberIsWrittenWithItsBand(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{PercentBand(0.029, 0.0281, 0.0299), "2.9 % ± 0.1"},
		{PercentBand(0.0253, 0.0175, 0.0331), "2.5 % ± 0.9"},
		{PercentBand(0.02067, 0.01672, 0.02979), "1.7–3.0 %"},
		{PercentBand(0.014, 0.0123, 0.0281), "1.2–2.8 %"},
		{PercentBand(0.01, 0.001, 0.0205), "0.1–2.1 %"},
		{PercentBand(0.0291, 0.0289, 0.0293), "2.91 % ± 0.02"},
		{PercentBand(0.3, 0.1, 0.5), "30 % ± 20"},
		{PercentBand(0.0115, 0, 0.023), "≤ 2.30 %"},
		{PercentBand(0, 0, 0.023), "≤ 2.30 %"},
		{PercentBand(0, 0, 0.00001), "≤ 0.01 %"},
		{PercentBand(0.0175, 0.0175, 0.0175), "1.75 %"},
		{PercentBand(0, 0, 0), "0.00 %"},
		{LatencyBand(0.023, 0.018, 0.025), "23 ms ± 5"},
		{LatencyBand(0.0042, 0.0039, 0.0044), "4.2 ms ± 0.3"},
		{LatencyBand(1.24, 1.1, 1.3), "1.24 s ± 0.14"},
		{LatencyBand(12, 10, 13), "12.0 s ± 2.0"},
		{LatencyBand(600, 500, 660), "10 m ± 1 m 40 s"},
		{LatencyBand(0, 0, 0.05), "≤ 50 ms"},
		{LatencyBand(0.043, 0.043, 0.043), "43 ms"},
		{NumberBand(21, 15.1, 28.6), "21 ± 8"},
	} {
		if tt.got != tt.want {
			t.Errorf("it reads %q, want %q", tt.got, tt.want)
		}
	}
}

// What is written holds what was known: nobody reads a narrower band than there is, but for the last digit of a rounding.
func TestABandHoldsItsEndsAsItIsWritten(t *testing.T) {
	pattern := regexp.MustCompile(`^([0-9.]+) (?:%|ms|s) ± ([0-9.]+)$`)
	ends := regexp.MustCompile(`^([0-9.]+)–([0-9.]+) %$`)
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-6, 0.9).Draw(t, "low")
		value := low + rapid.Float64Range(0, 0.3).Draw(t, "below")
		high := value + rapid.Float64Range(1e-6, 0.3).Draw(t, "above")
		for text, scale := range map[string]float64{PercentBand(value, low, high): 100, LatencyBand(value, low, high): unitOf(value)} {
			if ends := ends.FindStringSubmatch(text); ends != nil { // of a lopsided band both ends are written
				from, _ := strconv.ParseFloat(ends[1], 64)
				to, _ := strconv.ParseFloat(ends[2], 64)
				if math.Abs(from-low*scale) > 0.501 || math.Abs(to-high*scale) > 0.501 || from > to {
					t.Fatalf("%v to %v reads %q", low, high, text)
				}
				continue
			}
			found := pattern.FindStringSubmatch(text)
			if found == nil {
				t.Fatalf("%v, %v to %v reads %q", value, low, high, text)
			}
			number, _ := strconv.ParseFloat(found[1], 64)
			half, _ := strconv.ParseFloat(found[2], 64)
			if number-half > low*scale+1e-5 || number+half < high*scale-1e-5 {
				t.Fatalf("%v, %v to %v reads %q", value, low, high, text)
			}
		}
	})
}

func unitOf(seconds float64) float64 {
	if seconds < 0.9995 {
		return 1000
	}
	return 1
}

func TestABandIsDrawnBesideTheLimitsOfItsTiers(t *testing.T) {
	limits := []float64{0.01, 0.03, 0.1}
	b := NewBand(0.0138, 0.0413, limits, "words")
	if b == nil || b.Left != "12.5%" || b.Wide != "25.0%" || len(b.Ticks) != 3 || b.Ticks[0] != "9.1%" || b.Ticks[2] != "90.9%" {
		t.Errorf("got %+v", b)
	}
	if b := NewBand(0, 0.5, limits, ""); b == nil || b.Left != "0.0%" || b.Wide != "90.9%" {
		t.Errorf("a band beyond all limits: %+v", b)
	}
	for _, high := range []float64{0, math.NaN(), math.Inf(1)} {
		if b := NewBand(0, high, nil, ""); b != nil {
			t.Errorf("up to %v there is nothing to draw: %+v", high, b)
		}
	}
}
