package rule

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestOfTwoDisputedRatesTheLowerValidOneIsJudged(t *testing.T) {
	exact := func(r, n float64) dedup.Figure { return from("reported counters", rate(dedup.Measured, r, r, n)) }
	between := func(low, high, n float64) dedup.Figure {
		return from("residual interval", rate(dedup.Derived, low, high, n))
	}
	atLeast := between(0.001, 0.001, 10_000)
	atLeast.AtLeast = true
	for _, tt := range []struct {
		name             string
		rate, crossCheck dedup.Figure
		tier, possible   dedup.Tier
		risk             dedup.Risk
		source           string
		says             []string
		disputed         bool
	}{
		{"a lower cross-check is judged, the reported rate is possible", exact(0.05, 10_000), between(0.001, 0.003, 9000),
			dedup.Normal, dedup.Severe, dedup.RiskLow, "residual interval", []string{"0.10 % to 0.30 %", "disputed", "reported counters", "5.00 %"}, true},
		{"a higher cross-check is only possible", exact(0.002, 10_000), between(0.12, 0.13, 9000),
			dedup.Normal, dedup.Emergency, dedup.RiskLow, "reported counters", []string{"0.20 %", "disputed", "residual interval", "12.00 % to 13.00 %"}, true},
		{"intervals that overlap agree", exact(0.015, 10_000), between(0.012, 0.05, 9000), dedup.Warning, dedup.Warning, dedup.RiskMedium, "reported counters", []string{"1.50 %"}, false},
		{"intervals that touch agree", exact(0.015, 10_000), between(0.015, 0.05, 9000), dedup.Warning, dedup.Warning, dedup.RiskMedium, "reported counters", []string{"1.50 %"}, false},
		{"a cross-check of few messages disputes nothing", exact(0.05, 10_000), between(0, 0, 49), dedup.Severe, dedup.Severe, dedup.RiskMedium, "reported counters", nil, false},
		{"an estimate disputes nothing", exact(0.05, 10_000), from("x", rate(dedup.Estimated, 0, 0, 9000)), dedup.Severe, dedup.Severe, dedup.RiskMedium, "reported counters", nil, false},
		{"an unknown cross-check disputes nothing", exact(0.05, 10_000), dedup.Unknown(dedup.Ratio, "no second source"), dedup.Severe, dedup.Severe, dedup.RiskMedium, "reported counters", nil, false},
		{"a cross-check that is no number disputes nothing", exact(0.05, 10_000), between(math.NaN(), 0, 9000), dedup.Severe, dedup.Severe, dedup.RiskMedium, "reported counters", nil, false},
		{"a lower bound has no high end to be below anything", exact(0.05, 10_000), atLeast, dedup.Severe, dedup.Severe, dedup.RiskMedium, "reported counters", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			none := dedup.Unknown(dedup.Ratio, "no counters are reported")
			p := status([4]dedup.Figure{none, tt.rate, none, none}, dedup.Unknown(dedup.Seconds, "not reported"))
			p.Windows[1].CrossCheck = tt.crossCheck
			v := Judge(p)
			if v.Tier != tt.tier || v.Possible != tt.possible || v.Risk != tt.risk || v.Judged.Source != tt.source {
				t.Errorf("got %v (possible %v), risk %v by %q; want %v (possible %v), risk %v by %q",
					v.Tier, v.Possible, v.Risk, v.Judged.Source, tt.tier, tt.possible, tt.risk, tt.source)
			}
			for _, part := range tt.says {
				if !strings.Contains(v.Why, part) {
					t.Errorf("why is %q, want it to contain %q", v.Why, part)
				}
			}
			if strings.Contains(v.Why, "disputed") != tt.disputed || strings.Contains(v.Judged.Why, "disputed") != tt.disputed {
				t.Errorf("disputed must be %v in %q and in the figure's note %q", tt.disputed, v.Why, v.Judged.Why)
			}
		})
	}
}

func TestRatesOverOtherSpansAreDisputedOnlyBeyondChance(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	at := func(f dedup.Figure, ago time.Duration) dedup.Figure {
		f.At, f.Covered = now.Add(-ago), 15*time.Minute
		return f
	}
	for _, tt := range []struct {
		name     string
		a, b     dedup.Figure
		disputed bool
	}{
		{"the same span, a hair apart", at(rate(dedup.Measured, 0.0150, 0.0150, 10_000), 0), at(rate(dedup.Measured, 0.0151, 0.0152, 10_000), 0), true},
		{"half a minute later, a hair apart", at(rate(dedup.Measured, 0.0150, 0.0150, 10_000), 0), at(rate(dedup.Measured, 0.0151, 0.0152, 10_000), 30*time.Second), false},
		{"half a minute later, a point apart", at(rate(dedup.Measured, 0.0150, 0.0150, 10_000), 0), at(rate(dedup.Measured, 0.0250, 0.0252, 10_000), 30*time.Second), true},
	} {
		if got := disputed(tt.a, tt.b, dedup.DefaultLimits()); got != tt.disputed {
			t.Errorf("%s: disputed %v", tt.name, got)
		}
	}
}

func from(source string, f dedup.Figure) dedup.Figure {
	f.Source = source
	return f
}
