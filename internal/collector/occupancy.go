package collector

import (
	"sync"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A meter is a store that is told of samples of the unacked messages, and tells what they met of the works that have ended.
type meter interface {
	Sampled(at float64) (dedup.WorkMet, bool)
}

// An occupancy accumulates the live unacked counts of the pipelines of one broker.
type occupancy struct {
	mu     sync.Mutex
	queues int
	watch  map[string][]dedup.QueueRef // fixed once made
	meters map[string]meter            // of stores that belong to one pipeline alone; fixed once made
	totals map[string]estimate.Held
	out    map[string][]sample.OutSample // since the last round
	last   sample.LiveDepths
	calms  map[string]*sample.Calms // by store
}

func (o *occupancy) absorb(t dedup.QueueTotals) {
	ended := time.Now()
	queues := make(map[dedup.QueueRef]*dedup.Queue, len(t.Queues))
	for i := range t.Queues {
		queues[t.Queues[i].QueueRef] = &t.Queues[i]
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queues, o.last = len(t.Queues), sample.LiveDepths{At: t.At, Queues: queues}
	for _, s := range o.calms {
		s.Take(queues, t.At, ended, false)
	}
	for pipeline, refs := range o.watch {
		sum, whole := 0.0, true
		for _, ref := range refs {
			if q := queues[ref]; q != nil && q.Unacked != nil {
				sum += float64(*q.Unacked)
			} else {
				whole = false
			}
		}
		held := o.totals[pipeline]
		if whole {
			held = held.Take(sum, t.At.Add(ended.Sub(t.At)/2), ended.Sub(t.At))
			o.sampleOut(pipeline, sample.OutSample{Began: t.At, Ended: ended, Unacked: sum}, queues)
			if m := o.meters[pipeline]; m != nil {
				held = held.Meet(m.Sampled(held.Span))
			}
		} else {
			held = held.Miss()
		}
		o.totals[pipeline] = held
	}
}

func (o *occupancy) of(pipeline string) estimate.Held {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.totals[pipeline]
}

// newest returns the depths of the last reading.
func (o *occupancy) newest() sample.LiveDepths {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func (o *occupancy) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queues
}
