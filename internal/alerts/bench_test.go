package alerts

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

const (
	benchPipelines = 1000
	// benchGoal bounds one evaluation of 20 rules over 1,000 pipelines.
	benchGoal = 400 * time.Millisecond
)

// BenchmarkEvaluation times one evaluation of 20 rules whose value PromQL gives, over 1,000 pipelines with an hour of samples at 15 s
// in the real history, and with the minutes of a day ago. Six rules are ratios, of which no pipeline has enough events in 15 minutes or
// an hour, so that all three windows are asked for.
func BenchmarkEvaluation(b *testing.B) {
	now := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	history := benchHistory(b, now)
	snap := &dedup.Snapshot{Round: 1, At: now, Interval: 15 * time.Second}
	for i := range benchPipelines {
		snap.Pipelines = append(snap.Pipelines, dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: benchName(i), Broker: "main", Limits: dedup.DefaultLimits(),
			Labels: map[string]string{"team": fmt.Sprintf("team-%d", i%20)}}})
	}
	journal := newStageJournal()
	e, err := NewEngine(EngineDeps{Rules: benchRules(), Snapshots: &stageSnapshots{snap: snap}, History: history, Journal: journal})
	if err != nil {
		b.Fatal(err)
	}
	e.Evaluate(b.Context(), now)
	checkBench(b, e.View())
	var worst, total time.Duration
	n := 0
	for b.Loop() {
		began := time.Now()
		e.Evaluate(b.Context(), now.Add(time.Duration(n%2)*time.Second))
		took := time.Since(began)
		worst, total, n = max(worst, took), total+took, n+1
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(n), "ms/evaluation")
	b.ReportMetric(float64(worst.Microseconds())/1000, "ms-worst")
	if mean := total / time.Duration(n); mean > benchGoal {
		b.Logf("short of the goal: %s for one evaluation, want at most %s", mean, benchGoal)
	}
}

// checkBench makes sure that the benchmark measures something: every rule judges every pipeline, the ratios over the day.
func checkBench(b *testing.B, v *View) {
	b.Helper()
	if len(v.Alerts) != 20*benchPipelines || len(v.Errors) != 0 {
		b.Fatalf("%d alerts, errors %v; want 20 for each of %d pipelines", len(v.Alerts), v.Errors, benchPipelines)
	}
	for _, a := range v.Alerts {
		if a.Last.Health != HealthOK || a.Rule.Numerator != "" && a.Last.Window != 24*time.Hour {
			b.Fatalf("%s: %v over %s: %s; want a value, a ratio over 24 h", a.Key, a.Last.Health, a.Last.Window, a.Last.Why)
		}
	}
}

func benchName(i int) string { return fmt.Sprintf("pipeline-%04d", i) }

// benchGauges and benchCounters are the series of each pipeline that the rules ask for.
func benchGauges() []string {
	return []string{series.QueueReady, series.QueueUnacked, series.QueueConsumers, series.MarkersNoExpiry, series.OldestProcessing, series.DuplicateRate}
}

func benchCounters() []string {
	return []string{series.BrokerAcks, series.BrokerDeliveries, series.BrokerRedeliveries, series.BrokerPublishes, series.AckTimeouts, series.ConsumerRestarts}
}

// benchHistory fills a history: 15 series for each pipeline.
func benchHistory(b *testing.B, now time.Time) *series.DB {
	b.Helper()
	db, err := series.Open(series.Config{Dir: b.TempDir(), Retention: 48 * time.Hour, Interval: 15 * time.Second, MinFree: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	<-db.Ready()
	var samples []series.Sample
	for i := range benchPipelines {
		l := func(more ...string) map[string]string {
			m := map[string]string{"pipeline": benchName(i)}
			for k := 0; k+1 < len(more); k += 2 {
				m[more[k]] = more[k+1]
			}
			return m
		}
		for _, name := range benchGauges() {
			samples = append(samples, series.Sample{Name: name, Labels: l()})
		}
		for _, name := range benchCounters() {
			samples = append(samples, series.Sample{Name: name, Labels: l()})
		}
		for _, outcome := range []string{"processed", "duplicate_done", "failed"} {
			samples = append(samples, series.Sample{Name: series.ReportedOutcomes, Labels: l("outcome", outcome)})
		}
	}
	fill := func(at time.Time) {
		for i := range samples {
			samples[i].Value = float64(at.Unix()/15%1_000_000) * float64(1+i%7)
		}
		if err := db.Append(b.Context(), at, samples); err != nil {
			b.Fatal(err)
		}
	}
	for at := now.Add(-24*time.Hour - time.Minute); !at.After(now.Add(-24*time.Hour + time.Minute)); at = at.Add(15 * time.Second) {
		fill(at)
	}
	for at := now.Add(-time.Hour - time.Minute); !at.After(now); at = at.Add(15 * time.Second) {
		fill(at)
	}
	return db
}

// benchRules are 20 rules: eight of a gauge, six of a gain in 15 minutes, six of a ratio.
func benchRules() []Rule {
	var rules []Rule
	add := func(r Rule) {
		r.Name = fmt.Sprintf("rule_%02d", len(rules))
		r.Title, r.Kind, r.Timing = r.Name, OfPipeline, DefaultTiming()
		r.Limits = RuleLimits{Warning: Limit(1e12), Severe: Limit(1e13)}
		rules = append(rules, r)
	}
	for _, g := range benchGauges() {
		add(Rule{Unit: dedup.Count, Expr: "sum by (pipeline) (" + g + ")"})
	}
	add(Rule{Unit: dedup.Count, Expr: "sum by (pipeline) (" + series.QueueReady + " + " + series.QueueUnacked + ")"})
	add(Rule{Unit: dedup.Count, Expr: "max by (pipeline) (max_over_time(" + series.OldestProcessing + "[5m]))"})
	gain := func(selector string) string {
		return "sum by (pipeline) (" + selector + ") - sum by (pipeline) (" + selector + " offset $window)"
	}
	for _, c := range benchCounters() {
		add(Rule{Unit: dedup.Count, Expr: gain(c)})
	}
	all := series.ReportedOutcomes
	for _, numerator := range []string{all + `{outcome="failed"}`, all + `{outcome="duplicate_done"}`, all + `{outcome=~"failed|duplicate_done"}`,
		series.BrokerRedeliveries, series.AckTimeouts, series.ConsumerRestarts} {
		add(Rule{Unit: dedup.Ratio, MinCount: 30_000, Numerator: gain(numerator), Denominator: gain(all)})
	}
	return rules
}
