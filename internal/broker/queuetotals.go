package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"

	dto "github.com/prometheus/client_model/go"

	"dedup-dashboard/internal/dedup"
)

const (
	// ackedByQueue and publishedByQueue count the acks and publishes of each queue by the channels of a node, as they happen:
	// unlike those of the management API they lose none when a channel dies. RabbitMQ has them since 4.1
	// (prometheus_rabbitmq_core_metrics_collector: queue_delivery_metrics and queue_exchange_metrics), at /metrics/detailed.
	ackedByQueue     = "rabbitmq_detailed_queue_messages_acked_total"
	publishedByQueue = "rabbitmq_detailed_queue_exchange_messages_published_total"
	// maxCountedQueues is the number of queues up to which the nodes are asked for the counts of each: an answer has some 8 lines
	// for every queue.
	maxCountedQueues = 2000
	// maxQueueLines bounds the lines of an answer that are of interest.
	maxQueueLines = 4 << 20
)

// countsQueues reports whether the nodes are worth asking for the counts of each queue.
func countsQueues(overview *overviewRow) bool {
	queues := overview.Objects.is.Queues.value
	return overview.info().CountsQueues() && queues != nil && *queues <= maxCountedQueues
}

// queueTotals reads what one node counts of each queue. An error is said in it.
func (c *Client) queueTotals(ctx context.Context, root *url.URL) dedup.NodeQueueTotals {
	out := dedup.NodeQueueTotals{URL: root.String()}
	at := root.JoinPath("metrics", "detailed")
	at.RawQuery = url.Values{"family": {"queue_delivery_metrics", "queue_exchange_metrics"}}.Encode()
	lines, err := c.counterLines(ctx, at, maxQueueLines, ackedByQueue, publishedByQueue)
	if err != nil {
		out.Err = deathsWords(ctx, err)
		return out
	}
	if out.Queues, err = readQueueTotals(lines[0], lines[1]); err != nil {
		out.Err = err.Error()
	}
	return out
}

// readQueueTotals reads the counts of each queue out of their lines. A queue that no channel of the node has used has none.
func readQueueTotals(ofAcks, ofPublishes []byte) (map[dedup.QueueRef]dedup.QueueEvents, error) {
	events := make(map[dedup.QueueRef]dedup.QueueEvents)
	for _, kind := range []struct {
		name  string
		lines []byte
		into  func(*dedup.QueueEvents) *int64
	}{
		{ackedByQueue, ofAcks, func(e *dedup.QueueEvents) *int64 { return &e.Acked }},
		{publishedByQueue, ofPublishes, func(e *dedup.QueueEvents) *int64 { return &e.Published }},
	} {
		counters, err := families(kind.lines)
		if err != nil {
			return nil, fmt.Errorf("the counters of its queues cannot be read: %w", err)
		}
		for _, metric := range counters[kind.name].GetMetric() {
			if err := addTo(events, metric, kind.into); err != nil {
				return nil, err
			}
		}
	}
	return events, nil
}

// addTo adds one counter to those of its queue: publishes are counted for each exchange that they came through.
func addTo(events map[dedup.QueueRef]dedup.QueueEvents, metric *dto.Metric, into func(*dedup.QueueEvents) *int64) error {
	n, counts := wholeCount(metric)
	ref := dedup.QueueRef{Vhost: label(metric, "vhost"), Name: label(metric, "queue")}
	e := events[ref]
	sum := into(&e)
	if !counts || ref.Name == "" || *sum > math.MaxInt64-n {
		return errors.New("its counters of single queues are not what RabbitMQ 4.1 gives")
	}
	*sum += n
	events[ref] = e
	return nil
}
