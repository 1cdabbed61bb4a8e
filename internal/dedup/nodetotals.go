package dedup

// NodeTotals are the counters of AMQP 0-9-1 messages of one node, over all its queues and virtual hosts, from its Prometheus
// plugin. They are cumulative, begin anew with the node, and lose nothing when channels die, which the counts of single queues do.
type NodeTotals struct {
	URL string
	// Err says why the node, or one of these counters, could not be read; they are 0 then.
	Err string
	// Acked are positive acks, Redelivered deliveries and gets that were not the first of their message, Delivered deliveries
	// and gets that want an ack.
	Acked       int64
	Redelivered int64
	Delivered   int64
}
