package consumer

import (
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestConsumersOfAMQP10AreThoseThatStayWithoutAChannelWhereSuchAConnectionIsOpen(t *testing.T) {
	orders := []dedup.QueueRef{{Vhost: "/", Name: "orders"}}
	read := func(vhost, protocol string, channels ...string) *dedup.Topology {
		t := &dedup.Topology{Connections: []dedup.Connection{{Name: "young"}, {Name: "other", Vhost: vhost, Protocol: protocol}}}
		for i, channel := range channels {
			t.Consumers = append(t.Consumers, dedup.Consumer{Queue: orders[0], Channel: channel, Tag: string(rune('a' + i))})
		}
		return t
	}
	modern, settled := read("/", "AMQP 1-0", ""), read("/", "AMQP 0-9-1", "")
	settled.Connections = settled.Connections[1:]
	for name, c := range map[string]struct {
		version string
		read    []*dedup.Topology
		unsure  bool
		want    bool
	}{
		"in two topologies":                       {"4.0.5", []*dedup.Topology{modern, modern}, false, true},
		"beside one with a channel":               {"4.3.6", []*dedup.Topology{read("/", "AMQP 1-0", "one", ""), read("/", "AMQP 1-0", "one", "")}, false, true},
		"in one topology, as a young channel":     {"4.0.5", []*dedup.Topology{modern}, true, false},
		"a young channel that is listed then":     {"4.0.5", []*dedup.Topology{modern, read("/", "AMQP 1-0", "one")}, false, false},
		"two young channels one after the other":  {"4.0.5", []*dedup.Topology{modern, read("/", "AMQP 1-0", "one", "")}, true, false},
		"gone since":                              {"4.0.5", []*dedup.Topology{modern, modern, read("/", "AMQP 1-0")}, false, false},
		"nobody speaks it, as with MQTT":          {"4.0.5", []*dedup.Topology{settled, settled}, false, false},
		"a connection does not tell yet":          {"4.0.5", []*dedup.Topology{settled, read("/", "AMQP 0-9-1", "")}, true, false},
		"it told at last":                         {"4.0.5", []*dedup.Topology{read("/", "AMQP 0-9-1", ""), modern}, false, true},
		"somebody speaks it in another vhost":     {"4.0.5", []*dedup.Topology{read("shop", "AMQP 1-0", ""), read("shop", "AMQP 1-0", "")}, true, false},
		"before RabbitMQ 4 all of it is channels": {"3.13.7", []*dedup.Topology{modern, modern}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var m Modern
			for _, topology := range c.read {
				m.Take(topology, dedup.BrokerInfo{Version: c.version})
			}
			if m.Unsure != c.unsure || m.On(orders) != c.want {
				t.Errorf("unsure %v, on %v", m.Unsure, m.On(orders))
			}
		})
	}
}
