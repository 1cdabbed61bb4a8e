package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A queueMeter is the loss meter of the queues of one pipeline alone, where the nodes count each queue by itself: unlike that of the
// whole broker it is exact whenever the pipeline rests. Acks are those of the source queues, publishes those of the dead-letter queues
// too: both are in the balance of messages.
type queueMeter struct {
	acks, publishes countMeter
	// listed: the broker has told how many nodes it has.
	listed bool
}

func newQueueMeter() queueMeter { return queueMeter{acks: newCountMeter(), publishes: newCountMeter()} }

// lost returns what the meter read; false while it reads nothing.
func (m *queueMeter) lost() (lostCounts, bool) {
	return lostCounts{m.acks.frames, m.publishes.frames}, m.listed && len(m.acks.frames) > 0
}

// absorb takes a sample, with the source queues of the pipeline and its dead-letter queues; moved says that another node answered than
// before. What cannot be read now comes with a later reading.
func (m *queueMeter) absorb(s *brokerReading, moved bool, sources, dead []dedup.QueueRef) {
	all := slices.Concat(sources, dead)
	whole := len(s.QueueTotals) > 0
	for _, n := range s.QueueTotals {
		if n.Err != "" {
			whole = false
			continue
		}
		count := func(c *countMeter, refs []dedup.QueueRef, of func(*dedup.QueueEvents) *int64) {
			for _, ref := range refs {
				var events *int64 // a queue that no channel of the node has used has none yet
				if e, ok := n.Queues[ref]; ok {
					events = of(&e)
				}
				c.countNode(n.URL+"\x00"+ref.Vhost+"\x00"+ref.Name, events)
			}
		}
		count(&m.acks, sources, func(e *dedup.QueueEvents) *int64 { return &e.Acked })
		count(&m.publishes, all, func(e *dedup.QueueEvents) *int64 { return &e.Published })
	}
	nodes := len(s.State.Nodes)
	m.listed = m.listed || nodes > 0
	if !whole || nodes > len(s.QueueTotals) || !s.counting() {
		return
	}
	m.acks.countQueues(s.only(sources, moved), acksOf)
	m.publishes.countQueues(s.only(all, moved), publishesOf)
}

// only are some of the queues of the reading.
func (r *brokerReading) only(refs []dedup.QueueRef, moved bool) listedQueues {
	own := listedQueues{at: r.At, took: r.Took, complete: r.whole(), moved: moved}
	for i := range r.Queues {
		if slices.Contains(refs, r.Queues[i].QueueRef) {
			own.queues = append(own.queues, r.Queues[i])
		}
	}
	return own
}

// lostCounts are what is known of the counts that the broker lost of this pipeline: by its own queues where the nodes tell of each,
// else by those of the whole broker.
func (p *pipeline) lostCounts() lostCounts {
	if own, ok := p.meter.lost(); ok {
		return own
	}
	return p.broker.loss.lost()
}

// lossWords says what is known of the acks of the pipeline whose count was lost: see lossMeter.words.
func (p *pipeline) lossWords(from, to time.Time) (why string, exact bool) {
	if own, ok := p.meter.lost(); ok {
		return p.broker.loss.wordsOf(own.Acks, "", from, to)
	}
	return p.broker.loss.words(from, to)
}
