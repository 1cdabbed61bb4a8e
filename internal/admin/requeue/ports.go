// Package requeue moves messages from one queue to others so that a crash at any instant can at worst copy some and never
// loses one: it acks a message at its source only after the broker has confirmed it at its target.
package requeue

import (
	"context"
	"io"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// Ends opens the two ends of a run. Each open is a connection of its own: a broker that is short of memory stops reading from
// whoever publishes, and must not stop reading acks with it.
type Ends interface {
	// Source opens a queue to take messages from.
	Source(ctx context.Context, queue dedup.QueueRef, take Taking) (Source, error)
	// Sink opens a way to queues of a vhost; at most window publishes may be without an answer at once.
	Sink(ctx context.Context, vhost string, window int) (Sink, error)
}

// Taking says how messages are taken from a source.
type Taking struct {
	// Held is how many messages are held unsettled at most. A source that consumes has them sent ahead.
	Held int
	// Single takes each message by itself when it is asked for, so that none is held that was not asked for.
	Single bool
}

// A Source hands out the messages of one queue and holds each until it is settled. Its methods may be called from several
// goroutines. After an error of any method the source is of no use any more: whatever it held is in the queue again. Two errors of
// Next are none in this sense: io.EOF, and that of its context.
type Source interface {
	// Next returns the next message; io.EOF when the queue has none ready, and the error of ctx when that ends while it waits for
	// one. While it waits for an answer of the broker, Close alone ends it.
	Next(ctx context.Context) (message.Delivery, error)
	// Ack takes exactly this message out of the queue.
	Ack(tag uint64) error
	// Close puts back at once all that was not acked, what was sent ahead too, and ends the connection. Only without an error is it
	// known that the broker has read every ack.
	io.Closer
}

// A Sink publishes persistent messages to queues by the default exchange, mandatory and with confirms.
type Sink interface {
	// Publish sends a message to a queue. While the broker reads nothing it waits for no longer than a write may take; one that reads
	// slowly may take that long for each piece of a big message. After an error the sink is of no use.
	Publish(ctx context.Context, queue string, m message.Message) error
	// Answer returns the answer to the oldest publish that has none yet. It is called by one goroutine, once for each publish that
	// returned no error. When the connection has ended it answers AnswerLost at once.
	Answer(ctx context.Context) (message.Answer, error)
	// Blocked says why the broker has stopped reading what is published; empty when it reads.
	Blocked() string
	io.Closer
}

// A Decider says what becomes of messages before any of them is published.
type Decider interface {
	// Decide may clear the markers of messages, which must happen first; not those of messages with MaxRequeues requeues, which it is
	// asked about like all others and which are not sent. An error stops the run, and the messages stay where they are.
	Decide(ctx context.Context, letters []dedup.DeadLetter) ([]Decision, error)
	// Undecide takes back decisions to send messages that could not be sent for a while, as when the broker reads nothing. It is asked
	// about them again.
	Undecide(letters []dedup.DeadLetter, decisions []Decision)
}

// A Decision is what becomes of one message.
type Decision struct {
	// Target is the queue that the message goes to; empty leaves it where it is, and Why says why.
	Target string
	Why    string
	// Message is what is sent in its stead, after an edit; nil for the message itself.
	Message *message.Message
	// Foreign says that somebody else wrote the headers of ours that the message has: they are not believed, and not sent on.
	Foreign bool
}
