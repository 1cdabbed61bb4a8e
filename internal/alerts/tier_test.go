package alerts

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

func TestTheTierOfADuplicateRateIsTheRowOfItsValueWhenTheEvidenceIsEnough(t *testing.T) {
	l := dedup.DefaultLimits()
	for _, tt := range []struct {
		name string
		hits float64
		n    float64
		want dedup.Tier
	}{
		{"nothing duplicated is normal", 0, 10_000, dedup.Normal},
		{"just below one percent is normal", 99, 10_000, dedup.Normal},
		{"exactly one percent is warning", 100, 10_000, dedup.Warning},
		{"150 of 10,000 is warning", 150, 10_000, dedup.Warning},
		{"just below three percent is warning", 299, 10_000, dedup.Warning},
		{"exactly three percent is severe", 300, 10_000, dedup.Severe},
		{"exactly ten percent is severe", 1000, 10_000, dedup.Severe},
		{"above ten percent is emergency", 1001, 10_000, dedup.Emergency},
		{"one of three is too few to tell", 1, 3, dedup.TierUnknown},
		{"49 messages are too few to tell", 49, 49, dedup.TierUnknown},
		{"two duplicates never make a warning", 2, 60, dedup.Normal},
		{"three of 100 is severe, since even its lower bound is above one percent", 3, 100, dedup.Severe},
		{"eleven of 100 is emergency, since its lower bound is above three percent", 11, 100, dedup.Emergency},
		{"six of 55 is emergency by value and by evidence", 6, 55, dedup.Emergency},
		{"three of 299 has too little evidence for warning", 3, 299, dedup.Normal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := DuplicateTier(tt.hits/tt.n, tt.n, l); got != tt.want {
				t.Errorf("DuplicateTier(%v of %v) = %v (lower bound %.4f), want %v", tt.hits, tt.n, got, WilsonLower(tt.hits, tt.n), tt.want)
			}
		})
	}
}

func TestTheLowerBoundMatchesPublishedValues(t *testing.T) {
	for _, tt := range []struct{ hits, n, want float64 }{
		{1, 3, 0.0615}, {3, 3, 0.4385}, {5, 100, 0.0215}, {50, 1000, 0.0381}, {500, 10_000, 0.0459}, {0, 0, 0},
	} {
		if got := WilsonLower(tt.hits, tt.n); math.Abs(got-tt.want) > 5e-4 {
			t.Errorf("WilsonLower(%v, %v) = %.4f, want %.4f", tt.hits, tt.n, got, tt.want)
		}
	}
}

func TestMoreDuplicatesNeverLowerATier(t *testing.T) {
	l := dedup.DefaultLimits()
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(50, 100_000).Draw(t, "n"))
		hits := float64(rapid.IntRange(0, int(n)-1).Draw(t, "hits"))
		if a, b := DuplicateTier(hits/n, n, l), DuplicateTier((hits+1)/n, n, l); b < a {
			t.Fatalf("%v of %v is %v, one more is %v", hits, n, a, b)
		}
		if WilsonLower(hits, n) > hits/n {
			t.Fatalf("the lower bound of %v of %v is above the rate", hits, n)
		}
	})
}

func TestTheTierOfALatencyHasInclusiveWarningLimits(t *testing.T) {
	l := dedup.DefaultLimits()
	for seconds, want := range map[float64]dedup.Tier{
		0: dedup.Normal, 0.0999: dedup.Normal, 0.1: dedup.Warning, 0.5: dedup.Warning, 0.5001: dedup.Severe, 60: dedup.Severe,
	} {
		if got := LatencyTier(seconds, l); got != want {
			t.Errorf("LatencyTier(%v) = %v, want %v", seconds, got, want)
		}
	}
}

// status returns a pipeline whose windows hold the given rates, in the order 5 m, 15 m, 1 h, 24 h.
func status(rates [4]dedup.Figure, latency dedup.Figure) *dedup.PipelineStatus {
	p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()}}
	for i, w := range dedup.Windows() {
		rates[i].Window = w
		latency.Window = w
		p.Windows = append(p.Windows, dedup.WindowFigures{Window: w, DuplicateRate: rates[i], AckMean: latency})
	}
	return p
}

func rate(q dedup.Quality, low, high, n float64) dedup.Figure {
	return dedup.Figure{Quality: q, Unit: dedup.Ratio, Value: low, Low: low, High: high, N: n}
}

func TestJudge(t *testing.T) {
	none := dedup.Unknown(dedup.Ratio, "no counters are reported")
	noLatency := dedup.Unknown(dedup.Seconds, "not reported")
	quick := dedup.Figure{Quality: dedup.Measured, Value: 0.02, Low: 0.02, High: 0.02, N: 1000}
	slow := dedup.Figure{Quality: dedup.Measured, Value: 0.8, Low: 0.8, High: 0.8, N: 1000}
	exact := func(r, n float64) dedup.Figure { return rate(dedup.Measured, r, r, n) }
	for _, tt := range []struct {
		name     string
		rates    [4]dedup.Figure
		latency  dedup.Figure
		tier     dedup.Tier
		possible dedup.Tier
		risk     dedup.Risk
		driver   string
		why      string
	}{
		{"150 of 10,000 is a warning of medium risk", [4]dedup.Figure{none, exact(0.015, 10_000), none, none}, noLatency,
			dedup.Warning, dedup.Warning, dedup.RiskMedium, "duplicate rate", "1.50 %"},
		{"the five minute window is not judged", [4]dedup.Figure{exact(0.5, 1000), exact(0, 1000), none, none}, noLatency,
			dedup.Normal, dedup.Normal, dedup.RiskLow, "duplicate rate", "below the warning limit"},
		{"too few messages pass judgement on to the next longer window", [4]dedup.Figure{none, exact(1, 10), exact(0.04, 1000), none}, noLatency,
			dedup.Severe, dedup.Severe, dedup.RiskMedium, "duplicate rate", "in 1 h"},
		{"too few in every window is unknown", [4]dedup.Figure{none, exact(1, 10), exact(1, 10), exact(1, 12)}, noLatency,
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "", "too few messages to judge (12 in 24 h)"},
		{"no data is unknown and says why", [4]dedup.Figure{none, none, none, none}, noLatency,
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "", "no counters are reported"},
		{"a figure that is not a number is unknown, not normal", [4]dedup.Figure{none, exact(math.NaN(), 1000), exact(0.5, math.Inf(1)), none}, noLatency,
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "", "not a number"},
		{"an interval is judged by its low end and shows what is possible", [4]dedup.Figure{none, rate(dedup.Derived, 0.005, 0.02, 10_000), none, none}, noLatency,
			dedup.Normal, dedup.Warning, dedup.RiskLow, "duplicate rate", "0.50 % to 2.00 %"},
		{"an estimate sets no tier", [4]dedup.Figure{none, rate(dedup.Estimated, 0.5, 0.5, 10_000), none, none}, noLatency,
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "", "estimate"},
		{"a slow pipeline is severe however few its duplicates", [4]dedup.Figure{none, exact(0, 1000), none, none}, slow,
			dedup.Severe, dedup.Severe, dedup.RiskHigh, "ack latency", "800 ms"},
		{"a quick pipeline does not vouch for an unknown duplicate rate", [4]dedup.Figure{none, none, none, none}, quick,
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "", "unknown"},
		{"a slow pipeline is severe though its duplicate rate is unknown", [4]dedup.Figure{none, none, none, none}, slow,
			dedup.Severe, dedup.Severe, dedup.RiskHigh, "ack latency", "800 ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Judge(status(tt.rates, tt.latency))
			if v.Tier != tt.tier || v.Possible != tt.possible || v.Risk != tt.risk || v.RiskDriver != tt.driver {
				t.Errorf("got %v (possible %v), risk %v by %q; want %v (possible %v), risk %v by %q",
					v.Tier, v.Possible, v.Risk, v.RiskDriver, tt.tier, tt.possible, tt.risk, tt.driver)
			}
			if !strings.Contains(v.Why, tt.why) {
				t.Errorf("why is %q, want it to contain %q", v.Why, tt.why)
			}
		})
	}
}

func TestAFindingRaisesTheTierAndGivesTheReason(t *testing.T) {
	none := dedup.Unknown(dedup.Ratio, "no counters are reported")
	healthy := rate(dedup.Measured, 0, 0, 1000)
	loop := dedup.Finding{Kind: "looping", Tier: dedup.Severe, Text: "A message loops on a stuck marker"}
	hint := dedup.Finding{Kind: "hint", Tier: dedup.Normal, Text: "Pin the dead-letter queue"}
	down := []dedup.SourceHealth{{Name: "store orders"}}
	for _, tt := range []struct {
		name     string
		rate     dedup.Figure
		findings []dedup.Finding
		down     []dedup.SourceHealth
		tier     dedup.Tier
		why      string
	}{
		{"beside a healthy rate", healthy, []dedup.Finding{hint, loop}, nil, dedup.Severe, loop.Text},
		{"beside an unknown rate", none, []dedup.Finding{loop}, nil, dedup.Severe, loop.Text},
		{"but not when it is only a hint", healthy, []dedup.Finding{hint}, nil, dedup.Normal, "below the warning limit"},
		{"but not over a worse rate", rate(dedup.Measured, 0.5, 0.5, 1000), []dedup.Finding{loop}, nil, dedup.Emergency, "emergency limit"},
		{"but not while a source is down", none, []dedup.Finding{loop}, down, dedup.TierUnknown, "no counters are reported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := status([4]dedup.Figure{none, tt.rate, none, none}, dedup.Unknown(dedup.Seconds, "not reported"))
			p.Findings, p.Down = tt.findings, tt.down
			v := Judge(p)
			if v.Tier != tt.tier || !strings.Contains(v.Why, tt.why) {
				t.Errorf("got %v because %q, want %v because %q", v.Tier, v.Why, tt.tier, tt.why)
			}
			if v.DuplicateTier == dedup.Severe {
				t.Error("a finding must not change the tier of the duplicate rate")
			}
		})
	}
}

func TestAPipelineWithoutFiguresIsUnknown(t *testing.T) {
	v := Judge(&dedup.PipelineStatus{})
	if v.Tier != dedup.TierUnknown || v.Risk != dedup.RiskUnknown {
		t.Errorf("got %v and %v, want both unknown", v.Tier, v.Risk)
	}
}

func TestSpansAreWrittenAsPeopleSayThem(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5 m", time.Hour: "1 h", 24 * time.Hour: "24 h"} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}
