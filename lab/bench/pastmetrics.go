package main

import (
	"fmt"
	"strconv"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// The size of the history: the largest that the product promises to carry.
const (
	historyPipelines = 200
	historyPerName   = 40 // series per pipeline
)

// pastSamples returns one round of the history: 40 series for each of 200 pipelines, with real names and labels. Value
// is that of a counter which began at 0; gauges follow it.
func pastSamples(value float64) []series.Sample {
	out := make([]series.Sample, 0, historyPipelines*historyPerName)
	for p := range historyPipelines {
		name := pipelineName(p)
		add := func(metric string, labels ...string) {
			s := series.Sample{Name: metric, Labels: map[string]string{"pipeline": name}, Value: value}
			for i := 0; i+1 < len(labels); i += 2 {
				s.Labels[labels[i]] = labels[i+1]
			}
			out = append(out, s)
		}
		for _, outcome := range dedup.ReportedOutcomes() {
			add(series.ReportedOutcomes, "outcome", outcome)
		}
		for _, bound := range dedup.LatencyBounds() {
			add(series.ReportedAckBucket, "le", strconv.FormatFloat(bound, 'g', -1, 64))
		}
		for _, metric := range []string{
			series.ReportedAckSum, series.BrokerPublishes, series.BrokerAcks, series.BrokerDeliveries,
			series.BrokerRedeliveries, series.BrokerAutoAcks, dedup.Ready.Metric(), dedup.Unacked.Metric(), dedup.Consumers.Metric(),
			series.DeadLettersArrived, series.MarkersNoExpiry, series.OldestProcessing, series.DuplicateRate,
			series.DuplicateRateHigh,
		} {
			add(metric)
		}
		add(series.DeadLetters, "vhost", "/", "queue", name+".dlq")
		for _, state := range []string{"processing", "done", "failed"} {
			add(series.Markers, "state", state)
		}
		for _, quantile := range []string{"0.95", "mean"} {
			add(series.AckLatency, "quantile", quantile)
		}
	}
	return out
}

func pipelineName(n int) string { return fmt.Sprintf("pipeline-%03d", n) }
