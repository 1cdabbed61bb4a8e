// Package metrics is /metrics: the figures of the snapshot and the alerts as they are when asked for, and this program itself.
package metrics

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server/show"
)

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// Deps are what the metrics are read from, all of them safe for concurrent use.
type Deps struct {
	Snapshots snapshots
	// Verdicts gives the verdict on each pipeline of a snapshot, in its order.
	Verdicts func(*dedup.Snapshot) []alerts.Verdict
	// LivePages counts the open streams of hints.
	LivePages func() int
	// Alerts is nil where no rules are judged, Channels where nothing is delivered.
	Alerts   interface{ View() *alerts.View }
	Channels func(context.Context) ([]Channel, error)
}

// Metrics are what /metrics shows. They are safe for concurrent use.
type Metrics struct {
	handler  http.Handler
	requests *prometheus.HistogramVec
}

// New makes the metrics in a registry of their own.
func New(deps Deps) *Metrics {
	reg := prometheus.NewRegistry()
	m := &Metrics{requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "dedup_dashboard_http_request_duration_seconds", Help: "Time to answer a request, by route. Streams are left out.",
		Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5},
	}, []string{"route", "method", "code"})}
	reg.MustRegister(
		m.requests,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "dedup_dashboard_live_pages", Help: "Open streams of hints.",
		}, func() float64 { return float64(deps.LivePages()) }),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newSnapshotCollector(deps.Snapshots, deps.Verdicts),
		newAlertCollector(deps),
	)
	// One broken metric must not hide the others.
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, DisableCompression: false})
	return m
}

// Handler answers in the Prometheus format.
func (m *Metrics) Handler() http.Handler { return m.handler }

// Observe notes an answered request. Methods that are not ours share one label, so that nobody can make endless series.
func (m *Metrics) Observe(route, method string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// snapshotCollector reads the snapshot on each scrape. What is not known is absent.
type snapshotCollector struct {
	snapshots snapshots
	verdicts  func(*dedup.Snapshot) []alerts.Verdict

	round, roundAt          *prometheus.Desc
	tier, risk              *prometheus.Desc
	up, success, took, miss *prometheus.Desc
	rateInfo                *prometheus.Desc
	windows                 []windowMetric
	instants                []instantMetric
	markers, deadLetters    *prometheus.Desc
	// shared, sharedFlow and sharers are of dead-letter queues that several share.
	shared, sharedFlow, sharers *prometheus.Desc
	judged, findings            *prometheus.Desc
}

// windowMetric is a figure that each window has.
type windowMetric struct {
	desc *prometheus.Desc
	// labels follow pipeline and window.
	labels []string
	pick   func(*dedup.WindowFigures) (float64, dedup.Figure)
}

// instantMetric is a figure that a pipeline has once.
type instantMetric struct {
	desc *prometheus.Desc
	pick func(*dedup.PipelineStatus) dedup.Figure
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func newSnapshotCollector(snaps snapshots, verdicts func(*dedup.Snapshot) []alerts.Verdict) *snapshotCollector {
	return &snapshotCollector{
		snapshots: snaps, verdicts: verdicts,
		round:       desc("dedup_rounds_total", "Rounds of the collector since the start."),
		roundAt:     desc("dedup_last_round_timestamp_seconds", "When the last round ended."),
		tier:        desc("dedup_pipeline_tier", "1 for the tier that the pipeline is in, 0 for the others.", "pipeline", "tier"),
		risk:        desc("dedup_pipeline_risk", "1 for the risk that the pipeline has, 0 for the others.", "pipeline", "risk"),
		up:          desc(series.SourceUp, "Whether the source answered the last time it was asked.", "source"),
		success:     desc(series.SourceLastSuccess, "When the source last answered.", "source"),
		took:        desc(series.SourceDuration, "How long the last reading of the source took.", "source"),
		miss:        desc(series.SourceMissed, "Readings left out because the one before was still under way.", "source"),
		rateInfo:    desc("dedup_duplicate_rate_info", "Where the duplicate rate comes from; always 1.", "pipeline", "window", "quality", "source"),
		markers:     desc(series.Markers, "Markers in the store.", "pipeline", "state"),
		judged:      desc(series.ProcessingMarkers, "Processing markers by the verdict on their owners; stuck are probably_dead, orphan and looping.", "pipeline", "verdict"),
		findings:    desc(series.Findings, "Findings by kind and tier; absent where there is none.", "pipeline", "kind", "tier"),
		deadLetters: desc(series.DeadLetters, "Messages in the dead-letter queue of the pipeline alone.", "pipeline", "vhost", "queue"),
		shared:      desc(series.SharedDeadLetters, "Messages in a dead-letter queue that several share.", "broker", "vhost", "queue"),
		sharedFlow:  desc("dedup_shared_dead_letter_inflow_per_hour", "Messages that arrived in a dead-letter queue that several share, in the last hour.", "broker", "vhost", "queue"),
		sharers:     desc("dedup_shared_dead_letter_queue_info", "Whose messages may be in a dead-letter queue that several share; always 1.", "broker", "vhost", "queue", "pipeline"),
		windows:     windowMetrics(),
		instants: append(gaugeMetrics(), []instantMetric{
			{desc(series.MarkersNoExpiry, "Markers that never expire.", "pipeline"), func(p *dedup.PipelineStatus) dedup.Figure { return p.MarkersNoExpiry }},
			{desc(series.OldestProcessing, "Age of the oldest marker that is processing.", "pipeline"), func(p *dedup.PipelineStatus) dedup.Figure { return p.OldestProcessing }},
		}...),
	}
}

func gaugeMetrics() []instantMetric {
	var all []instantMetric
	for _, g := range dedup.Gauges() {
		all = append(all, instantMetric{desc(g.Metric, g.Help, "pipeline"), func(p *dedup.PipelineStatus) dedup.Figure { return p.Gauges[g.Name] }})
	}
	return all
}

func value(f dedup.Figure) (float64, dedup.Figure) { return f.Value, f }

func windowMetrics() []windowMetric {
	w := func(name, help string, pick func(*dedup.WindowFigures) dedup.Figure) windowMetric {
		return windowMetric{desc(name, help, "pipeline", "window"), nil, func(w *dedup.WindowFigures) (float64, dedup.Figure) { return value(pick(w)) }}
	}
	all := []windowMetric{
		w("dedup_window_messages", "Messages in the window.", func(w *dedup.WindowFigures) dedup.Figure { return w.Messages }),
		w("dedup_window_duplicates", "Duplicates in the window; the low end of an interval.", func(w *dedup.WindowFigures) dedup.Figure { return w.Duplicates }),
		w(series.DuplicateRate, "Duplicates / messages in the window; the low end of an interval.", func(w *dedup.WindowFigures) dedup.Figure { return w.DuplicateRate }),
		w("dedup_redelivery_ratio", "Redeliveries / deliveries of the broker in the window: a loop signal, never a duplicate rate.", func(w *dedup.WindowFigures) dedup.Figure { return w.Redeliveries }),
		w("dedup_window_in_flight_hits", "Deliveries in the window that met a marker that was processing.", func(w *dedup.WindowFigures) dedup.Figure { return w.InFlightHits }),
		w("dedup_window_failures", "Failures in the window.", func(w *dedup.WindowFigures) dedup.Figure { return w.Failures }),
		w("dedup_failure_ratio", "Failed / (processed + failed) in the window: failures per attempt at the work.", func(w *dedup.WindowFigures) dedup.Figure { return w.FailureRate }),
		w("dedup_window_gave_up", "Messages in the window that were acked without their work after too many failures.", func(w *dedup.WindowFigures) dedup.Figure { return w.GaveUp }),
		w("dedup_dead_letter_inflow_per_hour", "Dead letters of the pipeline that arrived in the window, per hour; the low end, which leaves out shared queues.", func(w *dedup.WindowFigures) dedup.Figure { return w.DeadLetterInflow }),
		w("dedup_window_producer_sent", "Duplicates in the window that the producer sent as a second message.", func(w *dedup.WindowFigures) dedup.Figure { return w.ProducerSent }),
		w("dedup_window_redelivered", "Duplicates in the window that the broker delivered again.", func(w *dedup.WindowFigures) dedup.Figure { return w.Redelivered }),
		w("dedup_window_swallowed", "Deliveries in the window that were acked although their work was not done.", func(w *dedup.WindowFigures) dedup.Figure { return w.Swallowed }),
		w("dedup_window_looping", "Redeliveries in the window of messages that cannot proceed.", func(w *dedup.WindowFigures) dedup.Figure { return w.Looping }),
		w("dedup_window_double_effects", "Messages in the window whose work was done twice.", func(w *dedup.WindowFigures) dedup.Figure { return w.DoubleEffects }),
		w("dedup_window_lost", "Messages in the window that left without their work.", func(w *dedup.WindowFigures) dedup.Figure { return w.Lost }),
		w("dedup_mean_retries", "Mean failures of the messages that have failed and are not done.", func(w *dedup.WindowFigures) dedup.Figure { return w.MeanRetries }),
		w("dedup_ack_timeouts_per_hour", "Ack timeouts in the window, per hour.", func(w *dedup.WindowFigures) dedup.Figure { return w.AckTimeouts }),
		w("dedup_consumer_restarts_per_hour", "Consumer restarts in the window, per hour.", func(w *dedup.WindowFigures) dedup.Figure { return w.ConsumerRestarts }),
		{desc(series.DuplicateRateHigh, "The high end of the duplicate rate in the window.", "pipeline", "window"), nil,
			func(w *dedup.WindowFigures) (float64, dedup.Figure) { return w.DuplicateRate.High, w.DuplicateRate }},
		{desc(series.AckLatencyHigh, "The high end of the mean ack latency in the window.", "pipeline", "window"), nil,
			func(w *dedup.WindowFigures) (float64, dedup.Figure) { return w.AckMean.High, w.AckMean }},
	}
	ack := desc(series.AckLatency, "Time from delivery to ack in the window.", "pipeline", "window", "quantile")
	work := desc(series.WorkLatency, "Time of the work itself in the window.", "pipeline", "window", "quantile")
	q := func(d *prometheus.Desc, quantile string, pick func(*dedup.WindowFigures) dedup.Figure) {
		all = append(all, windowMetric{d, []string{quantile}, func(w *dedup.WindowFigures) (float64, dedup.Figure) {
			f := pick(w)
			if f.Bounded() { // of which the low end would be read as a time
				f.Value = math.NaN()
			}
			return value(f)
		}})
	}
	q(ack, "mean", func(w *dedup.WindowFigures) dedup.Figure { return w.AckMean })
	q(ack, "0.5", func(w *dedup.WindowFigures) dedup.Figure { return w.AckP50 })
	q(ack, "0.95", func(w *dedup.WindowFigures) dedup.Figure { return w.AckP95 })
	q(ack, "0.99", func(w *dedup.WindowFigures) dedup.Figure { return w.AckP99 })
	q(work, "mean", func(w *dedup.WindowFigures) dedup.Figure { return w.WorkMean })
	q(work, "0.5", func(w *dedup.WindowFigures) dedup.Figure { return w.WorkP50 })
	q(work, "0.95", func(w *dedup.WindowFigures) dedup.Figure { return w.WorkP95 })
	q(work, "0.99", func(w *dedup.WindowFigures) dedup.Figure { return w.WorkP99 })
	return all
}

// Describe sends nothing, which makes the collector unchecked: what it sends depends on what is known.
func (c *snapshotCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *snapshotCollector) Collect(out chan<- prometheus.Metric) {
	snap := c.snapshots.Snapshot()
	emit := emitterTo(out)
	emit(c.round, prometheus.CounterValue, float64(snap.Round))
	if !snap.At.IsZero() {
		emit(c.roundAt, prometheus.GaugeValue, seconds(snap.At))
	}
	for _, h := range snap.Sources {
		if !h.LastSuccess.IsZero() {
			emit(c.success, prometheus.GaugeValue, seconds(h.LastSuccess), h.Name)
		}
	}
	if show.Late(snap, time.Now()) != "" {
		return // an old figure, and an old word on a source, would pass for one of now
	}
	for _, h := range snap.Sources {
		c.source(h, emit)
	}
	for i, v := range c.verdicts(snap) {
		c.pipeline(&snap.Pipelines[i], v, emit)
	}
	for i := range snap.SharedQueues {
		c.sharedQueue(&snap.SharedQueues[i], emit)
	}
}
