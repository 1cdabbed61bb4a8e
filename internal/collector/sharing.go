package collector

import (
	"time"

	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// listed is what the newest readings tell of the broker's queues.
func (b *brokerWatch) listed() deadletter.Broker {
	t, _ := b.read.Topology.Get()
	return deadletter.Broker{Name: b.read.Name(), Queues: b.queues, At: b.at, Live: b.live, Complete: b.complete, Born: b.born, Index: b.index, Unread: t.Err, By: b.by, Shared: b.shared}
}

// sharedQueues are the shared dead-letter queues of all brokers, for the snapshot that has their pipelines.
func (m *maker) sharedQueues(s *dedup.Snapshot, now time.Time) []dedup.SharedQueue {
	var out []dedup.SharedQueue
	for _, b := range m.brokers {
		health := b.read.Samples.Status(now)
		out = append(out, b.shared.Show(s, b.listed(), m.past, health, source.WhyDown("broker "+text.Name(b.read.Name()), health))...)
	}
	return out
}
