// Package workqueue stands in for the metrics of the queues of the Kubernetes client; see stubs/README.md.
package workqueue

// GaugeMetric would go up and down by one.
type GaugeMetric interface {
	Inc()
	Dec()
}

// SettableGaugeMetric would be set.
type SettableGaugeMetric interface {
	Set(float64)
}

// CounterMetric would go up by one.
type CounterMetric interface {
	Inc()
}

// HistogramMetric would take a value.
type HistogramMetric interface {
	Observe(float64)
}

// MetricsProvider would make the metrics of a queue.
type MetricsProvider interface {
	NewDepthMetric(name string) GaugeMetric
	NewAddsMetric(name string) CounterMetric
	NewLatencyMetric(name string) HistogramMetric
	NewWorkDurationMetric(name string) HistogramMetric
	NewUnfinishedWorkSecondsMetric(name string) SettableGaugeMetric
	NewLongestRunningProcessorSecondsMetric(name string) SettableGaugeMetric
	NewRetriesMetric(name string) CounterMetric
}

// SetProvider panics: without a client there are no queues.
func SetProvider(MetricsProvider) {
	panic("Kubernetes is not supported: this program is built without its client")
}
