package rule

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestALatencyIsJudgedByTheEndsOfItsBandOrByItsBound(t *testing.T) {
	atMost := func(high, n float64) dedup.Figure {
		return dedup.Figure{Quality: dedup.Derived, Unit: dedup.Seconds, High: high, N: n}
	}
	number := func(low, value, high float64) dedup.Figure {
		return dedup.Figure{Quality: dedup.Estimated, Unit: dedup.Seconds, Low: low, Value: value, High: high, Error: (high - low) / 2, N: 1000}
	}
	between := func(low, high float64) dedup.Figure {
		return dedup.Figure{Quality: dedup.Derived, Unit: dedup.Seconds, Low: low, Value: low, High: high, N: 1000}
	}
	few := func(f dedup.Figure) dedup.Figure {
		f.N = 49
		return f
	}
	unknown := dedup.Unknown(dedup.Seconds, "no delivery for 4 m")
	measured := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Seconds, Value: 0.8, Low: 0.8, High: 0.8, N: 1000}
	for _, tt := range []struct {
		name            string
		quarter, hourly dedup.Figure // of 15 m and 1 h
		tier            dedup.Tier
		risk            dedup.Risk
		high            float64 // of the figure that is shown
		why             string
	}{
		{"at most 50 ms is normal", atMost(0.05, 60), unknown, dedup.Normal, dedup.RiskLow, 0.05, "at most 50 ms, below the warning limit of 100 ms"},
		{"so it is of a few messages", atMost(0.05, 6), unknown, dedup.Normal, dedup.RiskLow, 0.05, "6 messages"},
		{"at most 250 ms decides nothing", atMost(0.25, 60), unknown, dedup.TierUnknown, dedup.RiskUnknown, 0.25, "unknown: mean ack latency at most 250 ms"},
		{"at most 9 s wakes nobody", atMost(9, 6000), unknown, dedup.TierUnknown, dedup.RiskUnknown, 9, "unknown"},
		{"a number whose band is below the limit is normal", number(0.02, 0.03, 0.04), unknown, dedup.Normal, dedup.RiskLow, 0.04, "30 ms (20 ms to 40 ms), below the warning limit"},
		{"a number whose band reaches across the limit is judged by its low end", number(0.07, 0.09, 0.11), unknown, dedup.Normal, dedup.RiskLow, 0.11, "90 ms (70 ms to 110 ms), its low end below the warning limit"},
		{"a number whose low end is a warning is one", number(0.11, 0.2, 0.6), unknown, dedup.Warning, dedup.RiskMedium, 0.6, "at or above the warning limit"},
		{"a number whose low end is above the severe limit is severe", number(0.7, 0.9, 1.1), unknown, dedup.Severe, dedup.RiskHigh, 1.1, "above the severe limit of 500 ms"},
		{"a number of few messages is no more than a bound", few(number(0.7, 0.9, 1.1)), unknown, dedup.TierUnknown, dedup.RiskUnknown, 1.1, "unknown: mean ack latency at most 1.10 s"},
		{"so it is where that is normal", few(number(0.02, 0.03, 0.04)), unknown, dedup.Normal, dedup.RiskLow, 0.04, "at most 40 ms"},
		{"the next longer window has a number", atMost(0.25, 60), number(0.02, 0.03, 0.04), dedup.Normal, dedup.RiskLow, 0.04, "30 ms"},
		{"the number of an hour that is excluded now is not shown", atMost(0.01, 60), number(0.02, 0.03, 0.04), dedup.Normal, dedup.RiskLow, 0.01, "at most 10 ms"},
		{"what is measured is judged, whatever is bounded", atMost(0.05, 60), measured, dedup.Severe, dedup.RiskHigh, 0.8, "800 ms"},
		{"26 to 90 ms is normal", between(0.026, 0.09), unknown, dedup.Normal, dedup.RiskLow, 0.09, "between 26 ms and 90 ms, below the warning limit"},
		{"26 to 330 ms decides nothing", between(0.026, 0.33), unknown, dedup.TierUnknown, dedup.RiskUnknown, 0.33, "unknown: mean ack latency between 26 ms and 330 ms"},
		{"120 to 330 ms is a warning", between(0.12, 0.33), unknown, dedup.Warning, dedup.RiskMedium, 0.33, "between 120 ms and 330 ms, at or above the warning limit"},
		{"120 ms to 9 s is a warning at least", between(0.12, 9), unknown, dedup.Warning, dedup.RiskMedium, 9, "at or above the warning limit"},
		{"0.7 to 9 s is severe", between(0.7, 9), unknown, dedup.Severe, dedup.RiskHigh, 9, "above the severe limit"},
		{"0.7 to 9 s of few messages is no more than a bound", few(between(0.7, 9)), unknown, dedup.TierUnknown, dedup.RiskUnknown, 9, "at most 9 s"},
		{"a number of an hour below what is certain now is not shown", between(0.12, 0.33), number(0.02, 0.03, 0.04), dedup.Warning, dedup.RiskMedium, 0.33, "between"},
		{"nothing is known", unknown, unknown, dedup.TierUnknown, dedup.RiskUnknown, 0, "no delivery for 4 m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := status([4]dedup.Figure{}, unknown)
			p.Windows[1].AckMean, p.Windows[2].AckMean = tt.quarter, tt.hourly
			v, alert := Judge(p), judgeOne(t, p, "ack_latency")
			if v.LatencyTier != tt.tier || v.LatencyRisk != tt.risk || v.JudgedLatency.High != tt.high {
				t.Errorf("the page says %s, risk %s, of %+v; want %s, %s, up to %v", v.LatencyTier, v.LatencyRisk, v.JudgedLatency, tt.tier, tt.risk, tt.high)
			}
			if alert.Enters != tt.tier || !strings.Contains(alert.Why, tt.why) {
				t.Errorf("the alert says %s: %q; want %s because %q", alert.Enters, alert.Why, tt.tier, tt.why)
			}
			if tt.tier == dedup.Normal && alert.Value == 0 {
				t.Error("the alert gives a latency of 0")
			}
			if v.Tier > dedup.Normal && v.Tier != tt.tier || v.Tier == dedup.Normal {
				t.Errorf("the pipeline is %s: a latency does not vouch for a duplicate rate", v.Tier)
			}
		})
	}
}
