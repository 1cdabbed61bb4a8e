package collector

import (
	"math"
	"time"
)

// cameBack bounds the deliveries between two times of messages that consumers had before: each was redelivered, or somebody took it out
// of a dead-letter queue and sent it again. A channel that dies takes the counts of its redeliveries along, but no more came back by its
// death than it held. It is +Inf where nothing bounds them: where counts were missed, or dead letters can go on their own way.
func (p *pipeline) cameBack(from, to time.Time, prefetch int64) float64 {
	frames := reel(p.frames.frames)
	first, ok := frames.before(from)
	if !ok {
		return math.Inf(1)
	}
	last, ok := frames.after(to.Add(counterLag))
	if !ok || first.Gaps != last.Gaps || first.DeadGaps != last.DeadGaps {
		return math.Inf(1)
	}
	for _, f := range frames.span(first.Began, last.Began) {
		if !f.Whole {
			return math.Inf(1)
		}
	}
	closed, known := p.own.most(first, last)
	if !known || closed > 0 && (prefetch <= 0 || first.Gets != last.Gets) {
		return math.Inf(1)
	}
	return last.Redeliveries - first.Redeliveries + closed*float64(max(prefetch, 0)) + last.DeadSettled - first.DeadSettled
}
