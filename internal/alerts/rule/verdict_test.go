package rule

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

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
	down := []dedup.SourceHealth{{Name: "store orders", Tried: true, Err: "it refused the connection"}}
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
		{"also while another source is down", none, []dedup.Finding{hint, loop}, down, dedup.Severe, loop.Text},
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

// An interval that is too wide to be shown as a rate holds the truth all the same: what its low end shows is certain.
func TestTheLowEndOfAnIntervalThatIsTooWideIsCertain(t *testing.T) {
	none := dedup.Unknown(dedup.Ratio, "no counters are reported")
	wide := func(low, high, n float64) dedup.Figure {
		return dedup.Figure{Unit: dedup.Ratio, Value: low, Low: low, High: high, Hits: low * n, N: n, Window: 15 * time.Minute, Why: "the interval is too wide"}
	}
	narrow := rate(dedup.Derived, 0.001, 0.002, 10_000)
	for _, tt := range []struct {
		name           string
		rates          [4]dedup.Figure
		tier, possible dedup.Tier
		risk           dedup.Risk
		why            string
	}{
		{"above the warning limit it is at least a warning of medium risk", [4]dedup.Figure{none, wide(0.0203, 0.097, 2000), none, none},
			dedup.Warning, dedup.Severe, dedup.RiskMedium, "at least warning: the duplicate rate cannot be told, but lies within 2.03 % and 9.70 % (2,000 messages in 15 m)"},
		{"above the emergency limit it is an emergency", [4]dedup.Figure{none, wide(0.2, 0.5, 2000), none, none},
			dedup.Emergency, dedup.Emergency, dedup.RiskHigh, "emergency all the same: the duplicate rate lies within 20.00 % and 50.00 %"},
		{"within one tier it is of that", [4]dedup.Figure{none, wide(0.035, 0.09, 2000), none, none},
			dedup.Severe, dedup.Severe, dedup.RiskMedium, "severe all the same"},
		{"below the warning limit it is normal", [4]dedup.Figure{none, wide(0.0005, 0.0099, 2000), none, none},
			dedup.Normal, dedup.Normal, dedup.RiskLow, "all of it below the warning limit of 1.00 %"},
		{"up to the warning limit it is not", [4]dedup.Figure{none, wide(0.0005, 0.01, 2000), none, none},
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "the interval is too wide"},
		{"below it nothing can be told", [4]dedup.Figure{none, wide(0.0099, 0.097, 2000), none, none},
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "the interval is too wide"},
		{"below it the next window that can be told is judged", [4]dedup.Figure{none, wide(0.0099, 0.097, 2000), narrow, none},
			dedup.Normal, dedup.Normal, dedup.RiskLow, "0.10 % to 0.20 %"},
		{"it is judged before a longer window", [4]dedup.Figure{none, wide(0.0203, 0.097, 2000), narrow, none},
			dedup.Warning, dedup.Severe, dedup.RiskMedium, "at least warning"},
		{"not before a shorter window that can be told", [4]dedup.Figure{none, narrow, wide(0.0203, 0.097, 2000), none},
			dedup.Normal, dedup.Normal, dedup.RiskLow, "0.10 % to 0.20 %"},
		{"the window before the configured one is not judged", [4]dedup.Figure{wide(0.2, 0.5, 2000), none, none, none},
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "no counters"},
		{"of too few messages nothing is certain", [4]dedup.Figure{none, wide(0.2, 0.5, 49), none, none},
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "the interval is too wide"},
		{"a bound that is not a number is none", [4]dedup.Figure{none, wide(0.2, math.Inf(1), 2000), none, none},
			dedup.TierUnknown, dedup.TierUnknown, dedup.RiskUnknown, "the interval is too wide"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Judge(status(tt.rates, dedup.Unknown(dedup.Seconds, "not reported")))
			if v.Tier != tt.tier || v.Possible != tt.possible || v.Risk != tt.risk || !strings.Contains(v.Why, tt.why) {
				t.Errorf("got %v (possible %v), risk %v because %q; want %v (possible %v), risk %v because %q",
					v.Tier, v.Possible, v.Risk, v.Why, tt.tier, tt.possible, tt.risk, tt.why)
			}
			if strings.Contains(tt.why, "at least") && v.Judged.Known() {
				t.Errorf("the figure %+v can be told all at once", v.Judged)
			}
		})
	}
}

func TestLostMessagesAreToldFirst(t *testing.T) {
	lost := dedup.Finding{Kind: "messages_given_up", Tier: dedup.Severe, Text: "3 messages were given up"}
	loop := dedup.Finding{Kind: "looping", Tier: dedup.Severe, Text: "Messages are looping"}
	stuck := dedup.Finding{Kind: "stuck_markers", Tier: dedup.Warning, Text: "2 markers are stuck"}
	hint := dedup.Finding{Kind: "blind_scheme", Tier: dedup.Normal, Text: "blind"}
	blocked := dedup.Finding{Kind: "head_blocked", Tier: dedup.Emergency, Text: "It stands still"}
	for _, tt := range []struct {
		name     string
		rate     float64
		findings []dedup.Finding
		why      string
	}{
		{"before a loop of the same tier, and the rest is counted", 0, []dedup.Finding{loop, lost, stuck, hint}, "3 messages were given up; +2 more"},
		{"before a rate of the same tier", 0.05, []dedup.Finding{lost}, "3 messages were given up"},
		{"but after a worse finding", 0, []dedup.Finding{lost, blocked}, "It stands still; +1 more"},
		{"but after a worse rate, which says that there is more", 0.5, []dedup.Finding{lost, stuck}, "messages in 15 m); +2 more"},
		{"a loop does not come before a rate of the same tier", 0.05, []dedup.Finding{loop}, "messages in 15 m); +1 more"},
		{"hints are not counted", 0, []dedup.Finding{hint, stuck}, "2 markers are stuck"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			none := dedup.Unknown(dedup.Ratio, "no counters are reported")
			p := status([4]dedup.Figure{none, rate(dedup.Measured, tt.rate, tt.rate, 1000), none, none}, dedup.Unknown(dedup.Seconds, "not reported"))
			p.Findings = tt.findings
			if v := Judge(p); !strings.HasSuffix(v.Sentence(), tt.why) {
				t.Errorf("why is %q, want it to end with %q", v.Sentence(), tt.why)
			}
		})
	}
}

// A source that is down may hide whatever it alone can show: it never lowers a tier that is known, and nothing that is left
// makes the pipeline normal.
func TestWhileASourceIsDownAPipelineIsAtBestUnknown(t *testing.T) {
	none := dedup.Unknown(dedup.Ratio, "the broker cannot be read")
	exact := func(r float64) dedup.Figure { return rate(dedup.Measured, r, r, 1000) }
	stuck := dedup.Finding{Kind: "stuck_markers", Tier: dedup.Severe, Text: "40 markers are stuck"}
	hint := dedup.Finding{Kind: "store_shared", Tier: dedup.Normal, Text: "Two pipelines share the store"}
	slow := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Seconds, Value: 0.8, Low: 0.8, High: 0.8, N: 1000}
	quick := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Seconds, Value: 0.02, Low: 0.02, High: 0.02, N: 1000}
	for _, source := range []dedup.SourceHealth{
		{Name: "broker main", Kind: "broker", Tried: true, Err: "connection refused"},
		{Name: "store orders", Kind: "store", Tried: true, Err: "connection refused"},
		{Name: "reported orders", Kind: "reported", Tried: true, Err: "connection refused"},
		{Name: "store orders", Kind: "store"},
	} {
		reason := source.Name + " cannot be read: connection refused"
		if !source.Tried {
			reason = source.Name + " has not been read yet"
		}
		for _, tt := range []struct {
			name     string
			rate     dedup.Figure
			latency  dedup.Figure
			findings []dedup.Finding
			tier     dedup.Tier
			possible dedup.Tier
			why      string
		}{
			{"a normal rate does not make it normal", exact(0.001), quick, nil, dedup.TierUnknown, dedup.TierUnknown, reason},
			{"nor does a rate that is normal at its low end", rate(dedup.Derived, 0.005, 0.02, 10_000), quick, nil, dedup.TierUnknown, dedup.Warning, reason},
			{"nor does a hint", exact(0.001), quick, []dedup.Finding{hint}, dedup.TierUnknown, dedup.TierUnknown, reason},
			{"an unknown rate gives the source as the reason", none, quick, nil, dedup.TierUnknown, dedup.TierUnknown, reason},
			{"a finding of a source that is up still counts", exact(0.001), quick, []dedup.Finding{hint, stuck}, dedup.Severe, dedup.Severe, stuck.Text},
			{"a finding counts beside an unknown rate", none, quick, []dedup.Finding{stuck}, dedup.Severe, dedup.Severe, stuck.Text},
			{"a bad rate that is known stays", exact(0.015), quick, nil, dedup.Warning, dedup.Warning, "1.50 %"},
			{"a bad latency that is known stays", none, slow, nil, dedup.Severe, dedup.Severe, "800 ms"},
		} {
			t.Run(fmt.Sprintf("%s, tried %v: %s", source.Kind, source.Tried, tt.name), func(t *testing.T) {
				p := status([4]dedup.Figure{none, tt.rate, none, none}, tt.latency)
				p.Findings, p.Down = tt.findings, []dedup.SourceHealth{source}
				if v := Judge(p); v.Tier != tt.tier || v.Possible != tt.possible || !strings.Contains(v.Why, tt.why) {
					t.Errorf("got %v (possible %v) because %q, want %v (possible %v) because %q", v.Tier, v.Possible, v.Why, tt.tier, tt.possible, tt.why)
				}
			})
		}
	}
}

// Whatever the figures and findings say, a source that goes down must not turn a pipeline normal, nor lower its tier.
func TestASourceThatGoesDownNeverLowersATier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Float64Range(0, 0.2).Draw(t, "rate")
		p := status([4]dedup.Figure{{}, rate(dedup.Measured, r, r, 1000), {}, {}}, dedup.Unknown(dedup.Seconds, "not reported"))
		for _, tier := range rapid.SliceOfN(rapid.IntRange(int(dedup.Normal), int(dedup.Emergency)), 0, 3).Draw(t, "findings") {
			p.Findings = append(p.Findings, dedup.Finding{Kind: "looping", Tier: dedup.Tier(tier), Text: "found"})
		}
		up := Judge(p)
		p.Down = []dedup.SourceHealth{{Name: "store orders", Tried: true, Err: "connection refused"}}
		down := Judge(p)
		if up.Tier > dedup.Normal && down.Tier != up.Tier || up.Tier <= dedup.Normal && down.Tier != dedup.TierUnknown {
			t.Fatalf("%v became %v because %q", up.Tier, down.Tier, down.Why)
		}
	})
}

func TestAPipelineWithoutFiguresIsUnknown(t *testing.T) {
	v := Judge(&dedup.PipelineStatus{})
	if v.Tier != dedup.TierUnknown || v.Risk != dedup.RiskUnknown {
		t.Errorf("got %v and %v, want both unknown", v.Tier, v.Risk)
	}
}
