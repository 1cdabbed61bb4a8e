package series

import "dedup-dashboard/internal/dedup"

// The metrics that the collector stores. Counters are ours: they start at 0 when a thing is first seen, only rise, and
// go on after a restart. docs/metrics.md lists them with their labels.
const (
	// Labels pipeline, outcome.
	ReportedOutcomes = "dedup_reported_outcomes_total"
	// Labels pipeline, le; cumulated over le as Prometheus histograms are.
	ReportedAckBucket  = "dedup_reported_ack_seconds_bucket"
	ReportedAckSum     = "dedup_reported_ack_seconds_sum"
	ReportedWorkBucket = "dedup_reported_work_seconds_bucket"
	ReportedWorkSum    = "dedup_reported_work_seconds_sum"

	// Label pipeline: summed over its source queues.
	BrokerPublishes    = "dedup_broker_publishes_total"
	BrokerAcks         = "dedup_broker_acks_total"
	BrokerDeliveries   = "dedup_broker_deliveries_total" // manual-ack deliveries and gets
	BrokerRedeliveries = "dedup_broker_redeliveries_total"
	BrokerAutoAcks     = "dedup_broker_auto_ack_deliveries_total"
	// Label broker.
	BrokerChannelsClosed = "dedup_broker_channels_closed_total"
	// Labels broker, reason, strategy: messages that died in any queue of the broker.
	BrokerDeadLettered = "dedup_broker_dead_lettered_total"
	// Labels broker, named: "any" for all ack timeouts of the broker, "no" for those without a queue.
	BrokerAckTimeouts = "dedup_broker_ack_timeouts_total"
	// Label pipeline: ack timeouts of its source queues, and consumers of theirs that were replaced.
	AckTimeouts      = "dedup_ack_timeouts_total"
	ConsumerRestarts = "dedup_consumer_restarts_total"

	// Labels pipeline, vhost, queue.
	DeadLetters = "dedup_dead_letters"
	// Label pipeline: dead letters that arrived, derived from depth and settlements.
	DeadLettersArrived = "dedup_dead_letters_arrived_total"
	// Labels broker, vhost, queue: the same of a dead-letter queue that several share, which the two above leave out.
	SharedDeadLetters = "dedup_shared_dead_letters"
	SharedArrived     = "dedup_shared_dead_letters_arrived_total"

	// Labels pipeline, state.
	Markers = "dedup_markers"
	// Label pipeline.
	MarkersNoExpiry  = "dedup_markers_without_expiry"
	OldestProcessing = "dedup_marker_oldest_processing_seconds"

	// Labels pipeline, verdict: what became of the owners of processing markers.
	ProcessingMarkers = "dedup_processing_markers"

	// Labels pipeline, kind, tier: the findings that there are.
	Findings = "dedup_findings"

	// Label pipeline: the figures as they were judged.
	DuplicateRate     = "dedup_duplicate_rate_ratio"
	DuplicateRateHigh = "dedup_duplicate_rate_high_ratio"
	// Labels pipeline, quantile ("0.5", "0.95", "0.99", or "mean").
	AckLatency = "dedup_ack_latency_seconds"
	// Label pipeline: the high end of the mean.
	AckLatencyHigh = "dedup_ack_latency_high_seconds"
	WorkLatency    = "dedup_work_latency_seconds"

	// Label source.
	SourceUp          = "dedup_source_up"
	SourceDuration    = "dedup_source_duration_seconds"
	SourceMissed      = "dedup_source_missed_ticks_total"
	SourceLastSuccess = "dedup_source_last_success_timestamp_seconds"

	// Label store.
	StoreKeys        = "dedup_store_keys"
	StoreMemory      = "dedup_store_memory_bytes"
	StoreLatency     = "dedup_store_latency_p99_seconds"
	StoreEvictedKeys = "dedup_store_evicted_keys_total"
	StorePassSeconds = "dedup_store_pass_seconds"
)

// Stored returns the names of all metrics that the collector stores.
func Stored() []string {
	all := []string{
		ReportedOutcomes, ReportedAckBucket, ReportedAckSum, ReportedWorkBucket, ReportedWorkSum, BrokerPublishes, BrokerAcks,
		BrokerDeliveries, BrokerRedeliveries, BrokerAutoAcks, BrokerChannelsClosed, BrokerDeadLettered, BrokerAckTimeouts, AckTimeouts,
		ConsumerRestarts, DeadLetters, DeadLettersArrived, SharedDeadLetters, SharedArrived, Markers, MarkersNoExpiry,
		OldestProcessing, ProcessingMarkers, Findings, DuplicateRate, DuplicateRateHigh, AckLatency, AckLatencyHigh, WorkLatency, SourceUp, SourceDuration,
		SourceMissed, SourceLastSuccess, StoreKeys, StoreMemory, StoreLatency, StoreEvictedKeys, StorePassSeconds,
	}
	for _, g := range dedup.Gauges() { // with label pipeline
		all = append(all, g.Metric)
	}
	return all
}
