// Package progress finds pipelines that make no progress: messages go round, stand still or pile up.
package progress

import (
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// Messages are those of the source queues of a pipeline, and what may hold them back.
type Messages struct {
	Queues []dedup.QueueRef
	Frames sample.Frames
	// Ready and Unacked are as of the newest reading.
	Ready, Unacked dedup.Figure
	// Capacity is the most deliveries that the consumers can hold; 0 when it is not known.
	Capacity int64
	// MaxProcessing is the longest time that processing takes.
	MaxProcessing time.Duration
	// Held are the markers of the last pass that may hold messages back, Offset is the store's clock minus ours.
	Held   []dedup.Marker
	Offset time.Duration
	// From is when readings begin to tell of the pipeline itself.
	From time.Time
	// Down is the outage of the store that goes on; nil when there is none.
	Down *source.Outage
}

// Growing finds a backlog that grows.
func (m Messages) Growing() []dedup.Finding { return finding.BacklogGrowing(m.backlog()) }

// backlog looks back over the newest readings.
func (m Messages) backlog() finding.Backlog {
	const steps = int(finding.GrowthSpan / finding.GrowthStep)
	s, frames := finding.Backlog{Queues: m.Queues}, m.Frames
	if len(frames) == 0 {
		return s
	}
	last := frames[len(frames)-1]
	lowest := make([]float64, 0, steps)
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		past := last.Began.Sub(f.Began)
		if f.Blind || f.Gaps != last.Gaps {
			return s
		}
		if step := int(past / finding.GrowthStep); step < steps && step >= len(lowest) {
			lowest = append(lowest, f.Depth-f.Unacked)
		}
		n := len(lowest) - 1
		lowest[n] = min(lowest[n], f.Depth-f.Unacked)
		if past >= finding.GrowthSpan {
			s.Ready, s.Acks = last.Depth-last.Unacked, last.Acks-f.Acks
			break
		}
	}
	if len(lowest) == steps && last.Began.Sub(frames[0].Began) >= finding.GrowthSpan {
		for i := steps - 1; i >= 0; i-- {
			s.Lowest = append(s.Lowest, lowest[i])
		}
	}
	return s
}
