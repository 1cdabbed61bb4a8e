package consumer

import (
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// Modern are the consumers of a broker that speak AMQP 1.0. RabbitMQ from 4.0 on counts none of their deliveries by queue, and lists them without
// a channel; before that it turned their links into channels. It belongs to the round.
type Modern struct {
	// bare are the consumers without a channel in the newest topology, and queues those which had the same in two: a channel that was just opened is listed late.
	bare   map[consumerID]dedup.QueueRef
	queues map[dedup.QueueRef]bool
	// Unsure: another topology is needed to be sure.
	Unsure bool
}

// Take takes a topology.
func (m *Modern) Take(t *dedup.Topology, info dedup.BrokerInfo) {
	before := m.bare
	m.bare, m.queues, m.Unsure = make(map[consumerID]dedup.QueueRef), make(map[dedup.QueueRef]bool), false
	if !info.Since(4, 0) {
		return
	}
	for _, c := range t.Consumers {
		if c.Channel != "" {
			continue
		}
		id := consumerID{c.Queue.Vhost + "/" + c.Queue.Name, c.Tag}
		m.bare[id] = c.Queue
		_, again := before[id]
		is, young := connected(t.Connections, c.Queue.Vhost)
		if again && is {
			m.queues[c.Queue] = true
		}
		m.Unsure = m.Unsure || !again || !is && young
	}
}

// On reports whether one of some queues has such a consumer.
func (m *Modern) On(refs []dedup.QueueRef) bool {
	return slices.ContainsFunc(refs, func(ref dedup.QueueRef) bool { return m.queues[ref] })
}

// connected reports whether somebody speaks AMQP 1.0 in a vhost, and whether there are young connections, whose protocol is not told yet.
func connected(open []dedup.Connection, vhost string) (is, young bool) {
	for _, c := range open {
		is = is || c.Vhost == vhost && strings.HasPrefix(c.Protocol, "AMQP 1-")
		young = young || c.Protocol == ""
	}
	return is, young
}
