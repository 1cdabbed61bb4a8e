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

// acknowledgedTotal counts the messages that the consumers of a node acked.
const acknowledgedTotal = globalPrefix + "acknowledged_total"

// readTotals reads how many messages of a node's channels were acked out of the lines of their counter, summed over queue types. A
// counter that a later version renames is an error, and not 0.
func readTotals(lines []byte, into *dedup.NodeTotals) error {
	families, err := families(lines)
	if err != nil {
		return fmt.Errorf("the counter of acked messages cannot be read: %w", err)
	}
	acked, ok := sumOfChannels(families[acknowledgedTotal])
	if !ok {
		return fmt.Errorf("it has no counter %s; this version of RabbitMQ may name it otherwise", acknowledgedTotal)
	}
	into.Acked = acked
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
