package collector

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// A queueMeter is the loss meter of the queues of one pipeline alone, where the nodes count each queue by itself: unlike that of the
// whole broker it is exact whenever the pipeline rests.
type queueMeter struct {
	refs            []dedup.QueueRef
	acks, publishes countMeter
	// listed: the broker has told how many nodes it has.
	listed bool
}

func newQueueMeter(refs []dedup.QueueRef) queueMeter {
	return queueMeter{refs: refs, acks: newCountMeter(), publishes: newCountMeter()}
}

// lost returns what the meter read; false while it reads nothing.
func (m *queueMeter) lost() (lostCounts, bool) {
	return lostCounts{m.acks.frames, m.publishes.frames}, m.listed && len(m.acks.frames) > 0
}

// absorb takes a sample; moved says that another node answered than before. What cannot be read now comes with a later reading.
func (m *queueMeter) absorb(s *brokerReading, moved bool) {
	whole := len(s.QueueTotals) > 0
	for _, n := range s.QueueTotals {
		if n.Err != "" {
			whole = false
			continue
		}
		for _, ref := range m.refs {
			var acked, published *int64
			if events, ok := n.Queues[ref]; ok {
				acked, published = &events.Acked, &events.Published
			}
			name := n.URL + "\x00" + ref.Vhost + "\x00" + ref.Name
			m.acks.countNode(name, acked)
			m.publishes.countNode(name, published)
		}
	}
	nodes := len(s.State.Nodes)
	m.listed = m.listed || nodes > 0
	if !whole || nodes > len(s.QueueTotals) || !s.counting() {
		return
	}
	own := listedQueues{at: s.At, took: s.Took, complete: s.whole(), moved: moved}
	for _, ref := range m.refs {
		for i := range s.Queues {
			if s.Queues[i].QueueRef == ref {
				own.queues = append(own.queues, s.Queues[i])
			}
		}
	}
	m.acks.countQueues(own, acksOf)
	m.publishes.countQueues(own, publishesOf)
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
