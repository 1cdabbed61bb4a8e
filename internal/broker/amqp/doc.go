// Package amqp takes, publishes, acks and gives back messages of a broker by AMQP 0-9-1.
//
// A Mover has the two ends of a move, a Source and a Sink, with the account that may act: each on a connection of its own that is never
// recovered, each write on which ends in time.
package amqp
