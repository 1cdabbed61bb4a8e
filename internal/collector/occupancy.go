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

// An occupied is what the samples of one pipeline's unacked messages came to.
type occupied struct {
	sum, count float64
	// area is the integral of the unacked messages over time, in message seconds, by straight lines from sample to sample, and span
	// the seconds that it covers. Samples are rare just when the broker is busy and much is held, so that their plain mean is too low.
	area, span float64
	// noise estimates the variance of area. Of samples that do not depend on one another, half the squared difference of two is
	// their variance on average, and each weighs as much as the time to the next one.
	noise float64
	// took is how long the samples took together, in seconds: see littleAsked.
	took float64
	// last is the newest sample and at when it was taken; at is zero when the next one begins anew.
	last float64
	at   time.Time
}

// occupancyGap is the longest time between two samples that a straight line is drawn over: it bears one that failed or gave way.
const occupancyGap = 2 * totalsSlowest

// take adds a sample, which took so long. What was held in a longer gap before it is not known, and not covered.
func (o occupied) take(unacked float64, at time.Time, took time.Duration) occupied {
	if gap := at.Sub(o.at).Seconds(); !o.at.IsZero() && gap > 0 && gap <= occupancyGap.Seconds() {
		o.area += gap * (o.last + unacked) / 2
		o.span += gap
		o.noise += gap * gap * (unacked - o.last) * (unacked - o.last) / 2
	}
	o.sum += unacked
	o.count++
	o.took += took.Seconds()
	o.last, o.at = unacked, at
	return o
}

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
		was := o.totals[pipeline]
		if whole {
			o.totals[pipeline] = was.take(sum, t.At.Add(ended.Sub(t.At)/2), ended.Sub(t.At))
		} else {
			was.at = time.Time{}
			o.totals[pipeline] = was
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
