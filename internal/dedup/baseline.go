package dedup

import "time"

// A Baseline is the dead letters of a pipeline that somebody has acknowledged: only those beyond it count as new.
type Baseline struct {
	// Count is how many are acknowledged now. It falls with the depth of the dead-letter queues, so that later arrivals count.
	Count int64
	// Own is how many of Count were in queues of the pipeline alone, and falls with those; the rest were in shared ones. Split says
	// whether that is known: it is not of baselines from before it was kept, nor after a queue became shared or ceased to be.
	Own   int64
	Split bool
	// Acknowledged is how many there were when it was made.
	Acknowledged int64
	By           string
	At           time.Time
	Reason       string
}

// LoweredInAll is the baseline when there are so many dead letters in all and nobody knows yet which queues are shared: its parts stay as
// they are, but for more own letters than there are in all.
func (b Baseline) LoweredInAll(n int64) Baseline {
	b.Count = min(b.Count, n)
	b.Own = min(b.Own, b.Count)
	return b
}

// Lowered is the baseline when there are so many dead letters in queues of the pipeline alone, and in shared ones. Each part falls with
// its own queues, where the parts are known.
func (b Baseline) Lowered(own, shared int64) Baseline {
	if !b.Split {
		b.Count = min(b.Count, own+shared)
		return b
	}
	of := min(b.Count-b.Own, shared)
	b.Own = min(b.Own, own)
	b.Count = b.Own + of
	return b
}
