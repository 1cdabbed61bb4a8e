package alerts

import (
	"fmt"
	"log/slog"
	"slices"
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
// in the real history, and with the minutes of a day ago. Six rules are ratios, for which a third of the pipelines have enough events in
// 15 minutes, a third in an hour and a third in a day, so that numerator and denominator are asked for over all three.
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
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		e.Evaluate(b.Context(), now.Add(time.Duration(len(took)%2)*time.Second))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	median := took[len(took)/2]
	b.ReportMetric(float64(took[0].Microseconds())/1000, "ms-best")
	b.ReportMetric(float64(median.Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-worst")
	if median > benchGoal {
		b.Logf("short of the goal: %s for one evaluation, want at most %s", median, benchGoal)
	}
}

// checkBench makes sure that the benchmark measures something: every rule judges every pipeline, the ratios over all windows.
func checkBench(b *testing.B, v *View) {
	b.Helper()
	if len(v.Alerts) != 20*benchPipelines || len(v.Errors) != 0 {
		b.Fatalf("%d alerts, errors %v; want 20 for each of %d pipelines", len(v.Alerts), v.Errors, benchPipelines)
	}
	over := make(map[time.Duration]int)
	for _, a := range v.Alerts {
		if a.Last.Health != HealthOK {
			b.Fatalf("%s: %v over %s: %s; want a value", a.Key, a.Last.Health, a.Last.Window, a.Last.Why)
		}
		if a.Rule.Numerator != "" {
			over[a.Last.Window]++
		}
	}
	for _, w := range ratioWindows() {
		if over[w] < 6*benchPipelines/4 {
			b.Fatalf("ratios are judged over %v; want about a third over each window", over)
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
	pace := make(map[string]float64) // events in 15 s
	for i := range benchPipelines {
		l := func(more ...string) map[string]string {
			m := map[string]string{"pipeline": benchName(i)}
			for k := 0; k+1 < len(more); k += 2 {
				m[more[k]] = more[k+1]
			}
			return m
		}
		pace[benchName(i)] = []float64{20, 5, 1}[i%3]
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
			samples[i].Value = float64(at.Unix()/15%1_000_000) * pace[samples[i].Labels["pipeline"]]
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
	outcomes := series.ReportedOutcomes
	for _, ratio := range [][2]string{
		{outcomes + `{outcome="failed"}`, outcomes}, {outcomes + `{outcome="duplicate_done"}`, outcomes + `{outcome=~"processed|duplicate_done"}`},
		{series.BrokerRedeliveries, series.BrokerDeliveries}, {series.AckTimeouts, series.BrokerAcks}, {series.ConsumerRestarts, series.BrokerPublishes},
		{outcomes + `{outcome=~"failed|processed"}`, outcomes + `{outcome!=""}`},
	} {
		add(Rule{Unit: dedup.Ratio, MinCount: 1000, Numerator: gain(ratio[0]), Denominator: gain(ratio[1])})
	}
	return rules
}
