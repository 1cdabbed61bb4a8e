package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// judgedBy returns what the built-in rules say of pipelines, by rule; of a broker, store or the dashboard alike.
func judgedBy(t *testing.T, in *Round) map[string][]Judgement {
	t.Helper()
	out := make(map[string][]Judgement)
	for _, r := range resolve(t) {
		if r.Disabled {
			continue
		}
		js, ok := r.Judge(in)
		if !ok {
			t.Fatalf("rule %s is no rule of the snapshot", r.Name)
		}
		for _, j := range js {
			if j.Key.Rule != r.Name || !j.At.Equal(in.Now) || j.Health == HealthOK && (j.Holds < j.Enters || j.Enters == dedup.TierUnknown) ||
				j.Health != HealthOK && (j.Holds != dedup.TierUnknown || j.Enters != dedup.TierUnknown) || j.Why == "" {
				t.Fatalf("rule %s: the judgement does not fit together: %+v", r.Name, j)
			}
		}
		out[r.Name] = js
	}
	return out
}

// roundOf is the round of one pipeline, read just now.
func roundOf(p *dedup.PipelineStatus) *Round {
	return NewRound(readAt, &dedup.Snapshot{At: readAt, Interval: 15 * time.Second, Pipelines: []dedup.PipelineStatus{*p}}, Self{})
}

// judgeOne judges a pipeline by one built-in rule.
func judgeOne(t *testing.T, p *dedup.PipelineStatus, rule string) Judgement {
	t.Helper()
	js := judgedBy(t, roundOf(p))[rule]
	if len(js) != 1 {
		t.Fatalf("rule %s made %d judgements of one pipeline", rule, len(js))
	}
	return js[0]
}

// quietPipeline is a pipeline of which the figures say that nothing is amiss.
func quietPipeline() *dedup.PipelineStatus {
	p := withRate(0, 0)
	zero := exactly(0)
	p.Pipeline.Broker, p.Pipeline.Store, p.Pipeline.Labels = "main", "redis", map[string]string{"team": "shop", "store": "theirs"}
	for i := range p.Windows {
		w := &p.Windows[i]
		w.Looping, w.Swallowed, w.Lost, w.DoubleEffects = zero, zero, zero, zero
		perHour := dedup.Exact(dedup.Measured, dedup.PerHour, 0, readAt, "")
		w.AckTimeouts, w.ConsumerRestarts, w.DeadLetterInflow = perHour, perHour, perHour
		w.AckMean = dedup.Figure{Quality: dedup.Measured, Unit: dedup.Seconds, Value: 0.02, Low: 0.02, High: 0.02, N: 1000, Window: w.Window}
		w.FailureRate = dedup.Figure{Quality: dedup.Measured, Unit: dedup.Ratio, N: 1000, Window: w.Window}
	}
	p.SetGauge(dedup.Ready, zero)
	p.SetGauge(dedup.Unacked, zero)
	p.SetGauge(dedup.Consumers, zero)
	p.DeadLetters, p.Stuck, p.MarkersNoExpiry = zero, zero, zero
	p.PassAge = dedup.Exact(dedup.Measured, dedup.Seconds, 10, readAt, "")
	p.LastActivity = readAt.Add(-time.Second)
	return p
}

func TestOfAQuietPipelineEveryRuleIsNormal(t *testing.T) {
	for name, js := range judgedBy(t, roundOf(quietPipeline())) {
		for _, j := range js {
			if j.Key.Kind == OfPipeline && (j.Health != HealthOK || j.Enters != dedup.Normal || j.Holds != dedup.Normal) {
				t.Errorf("rule %s: %s, enters %s, holds %s: %s", name, j.Health, j.Enters, j.Holds, j.Why)
			}
			if want := map[string]string{"pipeline": "orders", "broker": "main", "store": "redis", "team": "shop"}; j.Key.Kind == OfPipeline && fmt.Sprint(j.Labels) != fmt.Sprint(want) {
				t.Errorf("rule %s: labels are %v, want %v", name, j.Labels, want)
			}
		}
	}
}

func TestAPipelineOfWhichNothingIsKnownIsNeverNormalByFigures(t *testing.T) {
	p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Store: "redis", Limits: dedup.DefaultLimits()}}
	byAbsence := []string{"redelivery_loop", "no_consumers", "auto_ack"} // of which the broker alone tells
	for name, js := range judgedBy(t, roundOf(p)) {
		for _, j := range js {
			if j.Key.Kind == OfPipeline && j.Health != HealthNoData && !slices.Contains(byAbsence, name) {
				t.Errorf("rule %s is %s with tier %s: %s", name, j.Health, j.Enters, j.Why)
			}
		}
	}
}

func TestPageAndAlertDecideTheBoundariesAlike(t *testing.T) {
	const n = 10_000
	for _, tt := range []struct {
		name          string
		rate, latency float64
		duplicates    dedup.Tier
		ack           dedup.Tier
	}{
		{"just below one percent and 100 ms", 0.0099, 0.0999, dedup.Normal, dedup.Normal},
		{"exactly one percent and 100 ms", 0.01, 0.1, dedup.Warning, dedup.Warning},
		{"just below three percent, exactly 500 ms", 0.0299, 0.5, dedup.Warning, dedup.Warning},
		{"exactly three percent, just above 500 ms", 0.03, 0.5001, dedup.Severe, dedup.Severe},
		{"exactly ten percent", 0.1, 0, dedup.Severe, dedup.Normal},
		{"just above ten percent", 0.1001, 0, dedup.Emergency, dedup.Normal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := quietPipeline()
			for i := range p.Windows {
				p.Windows[i].DuplicateRate = rate(dedup.Measured, tt.rate, tt.rate, n)
				p.Windows[i].AckMean.Value, p.Windows[i].AckMean.Low, p.Windows[i].AckMean.High = tt.latency, tt.latency, tt.latency
			}
			page, dup, ack := Judge(p), judgeOne(t, p, "duplicate_rate"), judgeOne(t, p, "ack_latency")
			if page.DuplicateTier != tt.duplicates || dup.Enters != tt.duplicates {
				t.Errorf("duplicates: the page says %s, the alert %s, want %s", page.DuplicateTier, dup.Enters, tt.duplicates)
			}
			if page.LatencyTier != tt.ack || ack.Enters != tt.ack {
				t.Errorf("latency: the page says %s, the alert %s, want %s", page.LatencyTier, ack.Enters, tt.ack)
			}
			if page.Tier == tt.duplicates && page.Why != dup.Why && page.Why != ack.Why {
				t.Errorf("the page says %q, the alerts %q and %q", page.Why, dup.Why, ack.Why)
			}
		})
	}
}

func TestPageAndAlertNeverDisagreeOnTheDuplicateRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()}}
		for _, w := range dedup.Windows() {
			low := rapid.Float64Range(0, 0.2).Draw(t, "low")
			f := rate(dedup.Quality(rapid.IntRange(0, 3).Draw(t, "quality")), low, low+rapid.Float64Range(0, 0.05).Draw(t, "width"), float64(rapid.IntRange(0, 400).Draw(t, "n")))
			f.Window = w
			p.Windows = append(p.Windows, dedup.WindowFigures{Window: w, DuplicateRate: f})
		}
		r := Rule{Name: "duplicate_rate", Kind: OfPipeline, Measure: "duplicate_rate"}
		js, _ := r.Judge(roundOf(p))
		if page := Judge(p); js[0].Enters != page.DuplicateTier || (js[0].Health == HealthOK) != (page.DuplicateTier != dedup.TierUnknown) {
			t.Fatalf("the page says %s because %q, the alert %s %s because %q", page.DuplicateTier, page.Why, js[0].Health, js[0].Enters, js[0].Why)
		}
		if js[0].Holds < js[0].Enters {
			t.Fatalf("it enters %s and holds %s", js[0].Enters, js[0].Holds)
		}
	})
}

func TestATierOfTheDuplicateRateIsHeldDownToFourFifthsOfItsLimit(t *testing.T) {
	for _, tt := range []struct {
		rate          float64
		enters, holds dedup.Tier
	}{
		{0.03, dedup.Severe, dedup.Severe},
		{0.029, dedup.Warning, dedup.Severe},
		{0.024, dedup.Warning, dedup.Severe},
		{0.0239, dedup.Warning, dedup.Warning},
		{0.008, dedup.Normal, dedup.Warning},
		{0.0079, dedup.Normal, dedup.Normal},
		{0.09, dedup.Severe, dedup.Emergency},
		{0.079, dedup.Severe, dedup.Severe},
	} {
		p := withRate(tt.rate, tt.rate)
		if j := judgeOne(t, p, "duplicate_rate"); j.Enters != tt.enters || j.Holds != tt.holds {
			t.Errorf("%v enters %s and holds %s, want %s and %s", tt.rate, j.Enters, j.Holds, tt.enters, tt.holds)
		}
	}
}

func TestFewMessagesDoNotAlert(t *testing.T) {
	exact := func(hits, n float64) dedup.Figure { return rate(dedup.Measured, hits/n, hits/n, n) }
	none := dedup.Unknown(dedup.Ratio, "no counters are reported")
	for _, tt := range []struct {
		name   string
		rates  [4]dedup.Figure
		health Health
		tier   dedup.Tier
	}{
		{"three of three", [4]dedup.Figure{exact(3, 3), exact(3, 3), exact(3, 3), exact(3, 3)}, HealthNoData, dedup.TierUnknown},
		{"60 of 1,000", [4]dedup.Figure{exact(60, 1000), exact(60, 1000), none, none}, HealthOK, dedup.Severe},
		{"5 of 40 in 15 m, and an hour that holds no more", [4]dedup.Figure{none, exact(5, 40), exact(5, 49), none}, HealthNoData, dedup.TierUnknown},
		{"5 of 40 in 15 m once the hour holds 50", [4]dedup.Figure{none, exact(5, 40), exact(5, 50), none}, HealthOK, dedup.Severe},
		{"7 of 55 in the hour are above ten percent", [4]dedup.Figure{none, exact(5, 40), exact(7, 55), none}, HealthOK, dedup.Emergency},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := judgeOne(t, status(tt.rates, dedup.Unknown(dedup.Seconds, "not reported")), "duplicate_rate")
			if j.Health != tt.health || j.Enters != tt.tier {
				t.Errorf("it is %s with tier %s because %q, want %s and %s", j.Health, j.Enters, j.Why, tt.health, tt.tier)
			}
		})
	}
}

func TestANackLoopOfOneMessageIsALoopAndNoDuplicate(t *testing.T) {
	p := quietPipeline()
	for i := range p.Windows {
		p.Windows[i].Looping = exactly(3000)
	}
	for name, js := range judgedBy(t, roundOf(p)) {
		for _, j := range js {
			if want := name == "redelivery_loop" || name == "watchdog"; (j.Enters > dedup.Normal) != want {
				t.Errorf("rule %s is at %s: %s", name, j.Enters, j.Why)
			}
		}
	}
	if j := judgeOne(t, p, "redelivery_loop"); j.Enters != dedup.Warning || j.Value != 3000 || j.Limit != 10 || j.Window != 15*time.Minute {
		t.Errorf("the loop is %+v", j)
	}
	p.Findings = []dedup.Finding{{Kind: "looping", Tier: dedup.Severe, Text: "Messages are looping", Evidence: "3,000 redeliveries"}}
	if j := judgeOne(t, p, "redelivery_loop"); j.Enters != dedup.Severe || j.Why != "Messages are looping" || !slices.Contains(j.Evidence, "3,000 redeliveries") {
		t.Errorf("with the finding the loop is %+v", j)
	}
	if j := judgeOne(t, p, "findings"); j.Enters != dedup.Normal {
		t.Errorf("the finding is told twice: %+v", j)
	}
}

func TestASourceThatIsDownNeverLowersAndNeverVouches(t *testing.T) {
	refused := dedup.SourceHealth{Name: "store redis", Kind: "store", Tried: true, Err: "connection refused"}
	untried := dedup.SourceHealth{Name: "store redis", Kind: "store"}
	down := func(h dedup.SourceHealth, also func(*dedup.PipelineStatus)) func(*dedup.PipelineStatus) {
		return func(p *dedup.PipelineStatus) {
			p.Down = []dedup.SourceHealth{h}
			also(p)
		}
	}
	as := func(v float64) func(*dedup.PipelineStatus) {
		return func(p *dedup.PipelineStatus) {
			for i := range p.Windows {
				p.Windows[i].DuplicateRate = rate(dedup.Measured, v, v, 10_000)
			}
		}
	}
	for _, tt := range []measureCase{
		{"a normal rate is an error, in the words of the page", "duplicate_rate", down(refused, as(0)), HealthError, 0, 0, 0, "store redis cannot be read: connection refused"},
		{"so is one that is held only", "duplicate_rate", down(refused, as(0.009)), HealthError, 0, 0, 0, "store redis cannot be read"},
		{"a bad rate that is known stays, and does not fall", "duplicate_rate", down(refused, as(0.015)), HealthOK, dedup.Warning, dedup.Emergency, 0.015, "1.50 %"},
		{"a source that was not read yet is no data", "duplicate_rate", down(untried, as(0)), HealthNoData, 0, 0, 0, "store redis has not been read yet"},
		{"what does not rest on it is judged", "dead_letters", down(refused, func(*dedup.PipelineStatus) {}), HealthOK, dedup.Normal, dedup.Normal, 0, "0 dead letters"},
		{"markers rest on the store", "stuck_markers", down(refused, func(*dedup.PipelineStatus) {}), HealthError, 0, 0, 0, "connection refused"},
		{"the other findings rest on every source", "findings", down(refused, func(*dedup.PipelineStatus) {}), HealthError, 0, 0, 0, "connection refused"},
		{"those of the broker rest on the broker", "auto_ack", down(refused, func(*dedup.PipelineStatus) {}), HealthOK, dedup.Normal, dedup.Normal, 0, "nothing was found"},
		{"those of the store rest on the store", "store_eviction", down(refused, func(*dedup.PipelineStatus) {}), HealthError, 0, 0, 0, "connection refused"},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestReadingsThatAreTooOldAreAnErrorOfEveryRuleOfThem(t *testing.T) {
	in := NewRound(readAt.Add(2*time.Minute), roundOf(quietPipeline()).Snapshot, Self{})
	for name, js := range judgedBy(t, in) {
		for _, j := range js {
			if j.Key.Kind != OfDashboard && (j.Health != HealthError || !strings.Contains(j.Why, "the newest readings are 2 m old")) {
				t.Errorf("rule %s: %s, %s", name, j.Health, j.Why)
			}
		}
	}
}
