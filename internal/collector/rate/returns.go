package rate

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// A Returns bounds the inserts of a window by deliveries of messages that consumers had before: each was redelivered, or somebody took it
// out of a dead-letter queue and sent it again. What nothing bounds is +Inf.
type Returns struct {
	// All bounds them by the counts since an earlier time.
	All float64
	// Redelivered bounds those that were redelivered, by the live counts of the window.
	Redelivered float64
	// Taken are the dead letters that were taken out, and may have been sent again.
	Taken float64
	// Left bounds those whose work was left undone, by channels that were closed or by a failure, and that are no dead letters, or were taken out.
	Left float64
}

// UnboundedReturns is what a broker tells that was not read.
func UnboundedReturns() Returns {
	inf := math.Inf(1)
	return Returns{All: inf, Redelivered: inf, Taken: inf, Left: inf}
}

// taken is Taken, and 0 where nothing bounds it.
func (c Returns) taken() float64 {
	if math.IsInf(c.Taken, 1) {
		return 0
	}
	return c.Taken
}

// Count bounds what came back by the counters of the broker's readings, as far as they vouch for all dead letters. A channel that dies
// takes the counts of its redeliveries along, but no more came back by its death than it held.
func (c *Returns) Count(frames sample.Frames, own *sample.OwnClosures, prefetchSince func(time.Time) int64, reach, from, to time.Time) {
	last, ok := frames.Counted(to)
	if !ok {
		return
	}
	first, more := frames.WholeSince(reach, last)
	if first == nil || first.Ended.After(from) || first.DeadGaps != last.DeadGaps {
		return
	}
	c.Taken = last.DeadSettled - first.DeadSettled + more
	closed, known := own.Most(first, last)
	prefetch := prefetchSince(first.Began)
	if !known || first.Gaps != last.Gaps || closed > 0 && (prefetch <= 0 || first.Gets != last.Gets) {
		return
	}
	c.All = last.Redeliveries - first.Redeliveries + closed*float64(max(prefetch, 0)) + c.Taken
}
