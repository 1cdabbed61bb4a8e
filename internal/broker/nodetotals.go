package broker

import (
	"fmt"
	"io"
	"math"

	dto "github.com/prometheus/client_model/go"

	"dedup-dashboard/internal/dedup"
)

// channelProtocol is the one protocol whose messages the counts of single queues hold (rabbit_channel.erl); others have
// counters of their own beside it.
const channelProtocol = "amqp091"

// readTotals reads the message counters of a node out of a Prometheus exposition, summed over queue types. All of them must be
// there: one that a later version renames would otherwise count 0.
func readTotals(body io.Reader, into *dedup.NodeTotals) error {
	families, err := families(body, globalPrefix)
	if err != nil {
		return fmt.Errorf("the counters of messages cannot be read: %w", err)
	}
	var acked, redelivered, consumed, got int64
	for _, c := range []struct {
		name string
		into *int64
	}{
		{"acknowledged", &acked}, {"redelivered", &redelivered},
		{"delivered_consume_manual_ack", &consumed}, {"delivered_get_manual_ack", &got},
	} {
		name := globalPrefix + c.name + "_total"
		n, ok := sumOfChannels(families[name])
		if !ok {
			return fmt.Errorf("it has no counter %s; this version of RabbitMQ may name it otherwise", name)
		}
		*c.into = n
	}
	into.Acked, into.Redelivered, into.Delivered = acked, redelivered, consumed+got
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
