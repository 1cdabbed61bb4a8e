package source

import (
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A Meter is a store that is told of samples of the unacked messages, and tells what they met of the works that have ended.
type Meter interface {
	Sampled(at float64) (dedup.WorkMet, bool)
}

// A Listener is told of the depths of all queues of a broker as they were between two times, by their own account. It answers at once.
type Listener interface {
	Take(queues map[dedup.QueueRef]*dedup.Queue, began, ended time.Time)
}

// An Occupancy accumulates the live unacked counts of the pipelines of one broker.
type Occupancy struct {
	mu     sync.Mutex
	queues int
	watch  map[string][]dedup.QueueRef // fixed once made
	meters map[string]Meter            // of stores that belong to one pipeline alone; fixed once made
	totals map[string]estimate.Held
	out    map[string][]sample.OutSample // since the last round
	last   sample.LiveDepths
	// listeners are fixed once made.
	listeners []Listener
}

// Follow accumulates the unacked messages of a pipeline's queues. Like Meet and Tell it is called before anything is read.
func (o *Occupancy) Follow(pipeline string, refs []dedup.QueueRef) {
	if o.watch == nil {
		o.watch, o.totals, o.out = make(map[string][]dedup.QueueRef), make(map[string]estimate.Held), make(map[string][]sample.OutSample)
	}
	o.watch[pipeline] = refs
}

// Meet tells a store that belongs to the pipeline alone of its samples.
func (o *Occupancy) Meet(pipeline string, m Meter) {
	if o.meters == nil {
		o.meters = make(map[string]Meter)
	}
	o.meters[pipeline] = m
}

// Tell tells a listener of each reading.
func (o *Occupancy) Tell(l Listener) { o.listeners = append(o.listeners, l) }

// observe takes a reading that came so much later than planned.
func (o *Occupancy) observe(t dedup.QueueTotals, late time.Duration) {
	ended := time.Now()
	queues := make(map[dedup.QueueRef]*dedup.Queue, len(t.Queues))
	for i := range t.Queues {
		queues[t.Queues[i].QueueRef] = &t.Queues[i]
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queues, o.last = len(t.Queues), sample.LiveDepths{At: t.At, Queues: queues}
	for _, l := range o.listeners {
		l.Take(queues, t.At, ended)
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
		at, took := t.At.Add(ended.Sub(t.At)/2), ended.Sub(t.At)
		switch {
		case !whole:
			held = held.Miss()
		case !live(refs, queues):
			held = held.TakeOld(sum, at, took, tick)
		default:
			held = held.Slip(late).Take(sum, at, took)
			o.sampleOut(pipeline, sample.OutSample{Began: t.At, Ended: ended, Unacked: sum})
			if m := o.meters[pipeline]; m != nil {
				held = held.Meet(m.Sampled(held.Span))
			}
		}
		o.totals[pipeline] = held
	}
}

// tick is how often queues that are not classic renew their depths: quorum_tick_interval and stream_tick_interval of RabbitMQ, unless configured.
const tick = 5 * time.Second

// live reports whether all queues answered as of the request: only classic ones do.
func live(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue) bool {
	return !slices.ContainsFunc(refs, func(ref dedup.QueueRef) bool { return queues[ref].Type != "classic" })
}

// Of is what was unacked of a pipeline so far.
func (o *Occupancy) Of(pipeline string) estimate.Held {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.totals[pipeline]
}

// newest returns the depths of the last reading.
func (o *Occupancy) newest() sample.LiveDepths {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func (o *Occupancy) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queues
}

// mostOutSamples bounds the samples of one pipeline that wait for the round.
const mostOutSamples = 64

// sampleOut keeps a sample.
func (o *Occupancy) sampleOut(pipeline string, s sample.OutSample) {
	all := append(o.out[pipeline], s)
	o.out[pipeline] = all[max(0, len(all)-mostOutSamples):]
}

// DrainOut returns the samples since the last call.
func (o *Occupancy) DrainOut(pipeline string) []sample.OutSample {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.out[pipeline]
	delete(o.out, pipeline)
	return all
}
