// Package broker reads RabbitMQ through its management HTTP API, and takes, gives back and publishes messages by AMQP 0-9-1.
//
// A Client reads, with the account that may watch. A Mover has the two ends of a move, a Source and a Sink, with the account that may
// act: each on a connection of its own that is never recovered, each write on which ends in time.
//
// The wire format is that of RabbitMQ 3.10 to 4.3, where almost any field may be absent, null or of another type than
// documented. What the broker did not say stays unknown; it never becomes 0.
package broker
