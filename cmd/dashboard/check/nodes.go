package check

import (
	"errors"
	"fmt"
	"io"

	"dedup-dashboard/internal/dedup"
)

// errNodeCounters says that counters of nodes were asked for and cannot be read.
var errNodeCounters = errors.New("node_counters_unreadable")

// printNodes reports whether the counters of the broker's nodes are read, which tell what the counts of queues lose. Its error
// names endpoints that are listed and cannot be read.
func printNodes(w io.Writer, s dedup.BrokerSample) error {
	const note = "  NOTE %s: %s\n    fix: %s\n"
	if len(s.Totals) == 0 {
		fmt.Fprintf(w, note, "node_counters_missing", "no Prometheus endpoint of a node is listed: dead letters by reason are unknown, and no duplicate rate can be told from acks where channels were closed, but on classic queues up to RabbitMQ 3.12.6",
			"enable the plugin rabbitmq_prometheus and list every node in prometheus_urls")
		return nil
	}
	read := 0
	for _, n := range s.Totals {
		switch {
		case n.Err != "":
			fmt.Fprintf(w, "  PROBLEM node_counters_unreadable: %s: %s\n    fix: enable the plugin rabbitmq_prometheus on the node, or correct prometheus_urls\n", n.URL, n.Err)
			continue
		case n.Routed == nil:
			fmt.Fprintf(w, note, "node_counters_partial", n.URL+" does not tell how many messages were routed: lost counts of publishes stay unknown", "use a version of RabbitMQ whose plugin has rabbitmq_global_messages_routed_total, as 3.10 has")
		}
		read++
	}
	fmt.Fprintf(w, "  counters of nodes: read from %d of %d\n", read, max(len(s.State.Nodes), len(s.Totals)))
	if missing := len(s.State.Nodes) - len(s.Totals); missing > 0 {
		fmt.Fprintf(w, note, "node_counters_missing", fmt.Sprintf("prometheus_urls lists %d of %d nodes, and each tells of itself alone", len(s.Totals), len(s.State.Nodes)), "list every node")
	}
	if read < len(s.Totals) {
		return errNodeCounters
	}
	return nil
}
