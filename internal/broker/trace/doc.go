// Package trace measures deliveries exactly for a short time, by the broker's firehose.
//
// A Tracer shows each delivery of some queues for a minute or two, by the broker's firehose: a copy of each delivered message, with its body,
// that the broker publishes to the exchange amq.rabbitmq.trace while tracing of the vhost is on. Whoever may read that exchange reads every
// message of the vhost. So the Tracer binds the queues that it was asked for and no others, takes the id and forgets the body.
//
// Tracing costs the broker, and outlives whoever switched it on. It is begun on calm brokers alone, watched each second, and switched off by the
// Tracer, by a guard (a process of its own that outlives it), or at the next start, whichever comes first.
package trace
