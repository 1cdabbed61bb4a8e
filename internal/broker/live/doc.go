// Package live counts what a broker's queues delivered and took, each second, from its Prometheus plugin.
//
// The management API renews its counters every 5 s; these are as of the moment of the answer. A Reader asks every node, because
// each tells of its own channels alone, and hands out a Reading: a sum per queue that only grows, and the two moments between which it
// was true. Whoever compares two sums asks first that Gap is nil in both and that the queue's Since is no later than the first.
//
// RabbitMQ from 4.0.1 counts per queue (queue_delivery_metrics), and such a row lives as long as its queue. Before that there is one row for
// each channel and queue (channel_queue_metrics), which goes with its channel, together with what it counted since the last answer.
// How much that was tell the counters of the whole node, which lose nothing: what they counted and no row did is lost. It belongs to
// the queue whose rows went where that was one alone, else perhaps to each of them; Lost holds both ends, and the truth is
// Counts+Lost.Low to Counts+Lost.High. A channel that came, acked and went between two answers has never had a row: where the broker says that
// channels came and went unseen, what was lost then may be any queue's. It is missed of a channel that had been open for long without a
// delivery, and of one that another hid which had its first.
//
// A node is counted by type node, which does no I/O: begin, a row for each line, commit, settle.
package live
