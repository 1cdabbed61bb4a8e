package queue

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// Gauges are the levels of some queues now, each summed.
type Gauges map[dedup.GaugeName]dedup.Figure

// GaugesOf are those of some queues of a broker as it listed them at a time; what their own processes told shortly before goes first.
func GaugesOf(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue, live sample.LiveDepths, broker string, at time.Time) Gauges {
	all := make(Gauges)
	for _, g := range dedup.Gauges() {
		all[g.Name] = sum(g, refs, queues, live, broker, at)
	}
	return all
}

func sum(g dedup.Gauge, refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue, live sample.LiveDepths, broker string, at time.Time) dedup.Figure {
	var sum int64
	from := at
	for _, ref := range refs {
		q := queues[ref]
		if q == nil {
			return dedup.Unknown(g.Unit, finding.QueueNotFound(ref.Name, broker))
		}
		newest, told := live.Newest(q, at)
		n := g.Of(newest)
		if n == nil { // the live list has no more than depths
			n, told = g.Of(q), at
		}
		if n == nil {
			return dedup.Unknown(g.Unit, fmt.Sprintf("the broker does not say for queue %s (state %s)", text.Name(ref.Name), text.Name(q.State)))
		}
		sum += *n
		if told.Before(from) {
			from = told
		}
	}
	return dedup.Exact(dedup.Measured, g.Unit, float64(sum), from, "queue depths of the broker")
}

// UnknownGauges are those of which nothing is known, with the reason.
func UnknownGauges(why string) Gauges {
	all := make(Gauges)
	for _, g := range dedup.Gauges() {
		all[g.Name] = dedup.Unknown(g.Unit, why)
	}
	return all
}

// Store adds what is stored of the levels of a pipeline.
func (all Gauges) Store(into counter.Batch, pipeline string) {
	for _, g := range dedup.Gauges() {
		into.Figure(g.Metric, all[g.Name], "pipeline", pipeline)
	}
}

// Vanishing reports whether messages can leave one of some queues without being redelivered.
func Vanishing(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue) bool {
	for _, ref := range refs {
		if q := queues[ref]; q != nil && topology.LosesMessages(q) {
			return true
		}
	}
	return false
}
