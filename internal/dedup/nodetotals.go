package dedup

// NodeTotals is how many AMQP 0-9-1 messages were acked on one node and routed by it, over all queues and virtual hosts, from its
// Prometheus plugin. It is cumulative, begins anew with the node, and loses nothing when channels die, which the counts of single
// queues do.
type NodeTotals struct {
	URL string
	// Err says why the node, or its counter of acks, could not be read; Acked is 0 then.
	Err string
	// Acked are positive acks.
	Acked int64
	// Routed are the messages that publishers' channels put into queues, once for each queue; nil where the node does not tell.
	Routed *int64
}
