package dedup

import (
	"maps"
	"slices"
)

// A Gauge is a level that the broker tells of each queue. This is all there is to declare of one: the collector sums it over the source queues
// of a pipeline and keeps the sum, the page of the pipeline and the API show it, and /metrics exports it. Rules ask for it by its series.
type Gauge struct {
	// Name is its name in the API.
	Name GaugeName
	// Metric is the series that is kept, with the label pipeline, and the metric at /metrics.
	Metric string
	// Label heads its tile on the page of a pipeline, Help describes it at /metrics.
	Label, Help string
	Unit        Unit
	// Of is the level of one queue; nil where the broker does not say.
	Of func(*Queue) *int64
}

// A GaugeName tells a gauge from the others.
type GaugeName string

// The gauges that figures, findings or rules rest on.
const (
	Ready     GaugeName = "ready"
	Unacked   GaugeName = "unacked"
	Consumers GaugeName = "consumers"
)

// Gauges returns all of them, in the order in which they are listed.
func Gauges() []Gauge {
	return []Gauge{
		{Ready, "dedup_queue_ready_messages", "Backlog", "Messages waiting in the source queues.", Count, func(q *Queue) *int64 { return q.Ready }},
		{Unacked, "dedup_queue_unacked_messages", "Unacked", "Messages delivered and not acked yet.", Count, func(q *Queue) *int64 { return q.Unacked }},
		{Consumers, "dedup_queue_consumers", "Consumers", "Consumers of the source queues.", Count, func(q *Queue) *int64 { return q.Consumers }},
	}
}

// OtherGauges returns those that have no place of their own in the API and on the page of a pipeline.
func OtherGauges() []Gauge {
	return slices.DeleteFunc(Gauges(), func(g Gauge) bool { return slices.Contains([]GaugeName{Ready, Unacked, Consumers}, g.Name) })
}

// Metric names the series of a gauge.
func (n GaugeName) Metric() string {
	all := Gauges()
	return all[slices.IndexFunc(all, func(g Gauge) bool { return g.Name == n })].Metric
}

// SetGauge sets a gauge of this status alone, not of copies.
func (p *PipelineStatus) SetGauge(name GaugeName, f Figure) {
	if p.Gauges = maps.Clone(p.Gauges); p.Gauges == nil {
		p.Gauges = make(map[GaugeName]Figure)
	}
	p.Gauges[name] = f
}
