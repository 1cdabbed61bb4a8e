// Package broker reads RabbitMQ through its management HTTP API and the metrics of its nodes.
//
// A Client reads, with the account that may watch; amqp has what acts.
//
// The wire format is that of RabbitMQ 3.10 to 4.3, where almost any field may be absent, null or of another type than
// documented. What the broker did not say stays unknown; it never becomes 0.
package broker
