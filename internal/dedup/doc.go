// Package dedup is the vocabulary of the product: the words of the glossary as types, without any I/O.
//
//   - broker: one RabbitMQ cluster, read through its management API and acted on through AMQP.
//   - store: one keyspace or table of markers, described by a kind (its storage shape) and a preset (a ready description).
//   - marker: one record in a store: id, state, business key, since, expires, owner, attempts.
//   - pipeline: one or more source queues, their store, their dead-letter queues and limits; what a user watches.
//   - duplicate: a delivery that was acked without work because its work was already done.
//   - swallowed: a delivery that was acked without work although the work was not done: a lost message.
//   - looping: redeliveries of a message that cannot proceed; a loop, not duplicates.
//   - double effect: the work was done twice.
//   - duplicate rate: duplicates / messages in a window; messages are the deliveries that the scheme acks.
//   - ack latency: the time from delivery to ack.
//   - dead letter: a message in a dead-letter queue, with its death history.
//   - tier: normal, warning, severe, emergency; unknown when there is no data.
//   - risk: low, medium, high: a second, separate scale.
//   - figure: a number with its provenance.
//   - finding: a hazard seen in a store, queue or scheme, with its evidence and a remedy.
//   - snapshot: everything known at the end of one round; pages, the API and /metrics read nothing else.
package dedup
