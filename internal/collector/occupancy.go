package collector

import (
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// An occupancy accumulates the live unacked counts of the pipelines of one broker.
type occupancy struct {
	mu     sync.Mutex
	queues int
	watch  map[string][]dedup.QueueRef // fixed once made
	totals map[string]occupied
	last   liveDepths
	shores map[string]*shore // by store
}

// An occupied is the sum and number of samples of one pipeline's unacked messages.
type occupied struct{ sum, count float64 }

func (o *occupancy) absorb(t dedup.QueueTotals) {
	ended := time.Now()
	queues := make(map[dedup.QueueRef]*dedup.Queue, len(t.Queues))
	for i := range t.Queues {
		queues[t.Queues[i].QueueRef] = &t.Queues[i]
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queues, o.last = len(t.Queues), liveDepths{t.At, queues}
	for _, s := range o.shores {
		s.take(queues, t.At, ended, false)
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
		if whole {
			was := o.totals[pipeline]
			o.totals[pipeline] = occupied{was.sum + sum, was.count + 1}
		}
	}
}

func (o *occupancy) of(pipeline string) occupied {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.totals[pipeline]
}

// newest returns the depths of the last reading.
func (o *occupancy) newest() liveDepths {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func (o *occupancy) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queues
}
