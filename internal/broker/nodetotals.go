package broker

import (
	"fmt"
	"math"

	dto "github.com/prometheus/client_model/go"

	"dedup-dashboard/internal/dedup"
)

// channelProtocol is the one protocol whose messages the counts of single queues hold (rabbit_channel.erl); others have
// counters of their own beside it.
const channelProtocol = "amqp091"

const (
	// acknowledgedTotal counts the messages that the consumers of a node acked.
	acknowledgedTotal = globalPrefix + "acknowledged_total"
	// routedTotal counts the messages that the publishers of a node put into queues, once for each queue, as the counts of
	// publishes of single queues do.
	routedTotal = globalPrefix + "routed_total"
)

// readTotals reads how many messages of a node's channels were acked, and routed, out of the lines of their counters, summed over
// queue types. A counter of acks that a later version renames is an error, and not 0; one of routed messages is not told.
func readTotals(ofAcks, ofRouted []byte, into *dedup.NodeTotals) error {
	counters, err := families(ofAcks)
	if err != nil {
		return fmt.Errorf("the counter of acked messages cannot be read: %w", err)
	}
	acked, ok := sumOfChannels(counters[acknowledgedTotal])
	if !ok {
		return fmt.Errorf("it has no counter %s; this version of RabbitMQ may name it otherwise", acknowledgedTotal)
	}
	into.Acked = acked
	if counters, err = families(ofRouted); err == nil {
		if routed, ok := sumOfChannels(counters[routedTotal]); ok {
			into.Routed = &routed
		}
	}
	return nil
}

// sumOfChannels sums a counter over queue types; false when it is missing, or one of its values is no count.
func sumOfChannels(family *dto.MetricFamily) (sum int64, ok bool) {
	for _, metric := range family.GetMetric() {
		if label(metric, "protocol") != channelProtocol {
			continue
		}
		n, counts := wholeCount(metric)
		if !counts || sum > math.MaxInt64-n {
			return 0, false
		}
		sum, ok = sum+n, true
	}
	return sum, ok
}
