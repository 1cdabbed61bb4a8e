package dedup

// NodeTotals is how many AMQP 0-9-1 messages were acked on one node, over all its queues and virtual hosts, from its Prometheus
// plugin. It is cumulative, begins anew with the node, and loses nothing when channels die, which the counts of single queues do.
type NodeTotals struct {
	URL string
	// Err says why the node, or its counter, could not be read; Acked is 0 then.
	Err string
	// Acked are positive acks.
	Acked int64
}
