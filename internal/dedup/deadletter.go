package dedup

import (
	"time"

	"dedup-dashboard/internal/message"
)

// A DeadLetter is a message in a dead-letter queue.
type DeadLetter struct {
	message.Message
	// Queue is the dead-letter queue that holds it.
	Queue QueueRef
	// Ref identifies the message by what it is: the SHA-256 in hex of the queue, the exchange and routing key, the properties with
	// all headers, and the body, as message.RefKey makes it. The broker has no other name for it. Two copies of one message have one Ref.
	Ref string
	// Deaths is the death history, newest first; empty when the message has none that can be read.
	Deaths []message.Death
	// Malformed says what of the death history could not be read; empty when all could. A client may have sent it so.
	Malformed string
}

// NewDeadLetter returns a message of a dead-letter queue with its history and its reference.
func NewDeadLetter(queue QueueRef, m message.Message) DeadLetter {
	return KeyedDeadLetter(nil, queue, m)
}

// KeyedDeadLetter is NewDeadLetter with a reference of the key.
func KeyedDeadLetter(key message.RefKey, queue QueueRef, m message.Message) DeadLetter {
	l := DeadLetter{Message: m, Queue: queue, Ref: key.Ref(queue.Vhost, queue.Name, m)}
	l.Deaths, l.Malformed = message.DeathsOf(m.Headers)
	return l
}

// Source returns the name of the queue that a dead letter came from: that of its newest death, which lies in the vhost of
// the dead-letter queue. It is false when no death says it.
func (l DeadLetter) Source() (queue string, ok bool) {
	for _, d := range l.Deaths {
		if d.Queue != "" {
			return d.Queue, true
		}
	}
	first, ok := message.FirstDeath(l.Headers)
	return first.Queue, ok && first.Queue != ""
}

// FirstDied returns when the message died for the first time, to the second; zero when no death says it.
func (l DeadLetter) FirstDied() time.Time {
	var first time.Time
	for _, d := range l.Deaths {
		if !d.Time.IsZero() && (first.IsZero() || d.Time.Before(first)) {
			first = d.Time
		}
	}
	return first
}

// LastDied returns the newest time of a death that is known, to the second; zero when no death says one. The broker keeps one time for
// each queue and reason, that of the first such death: of a message that died of one reason in one queue again, the newest may be later.
// A time that no calendar of four digits has is none.
func (l DeadLetter) LastDied() time.Time {
	var last time.Time
	for _, d := range l.Deaths {
		if d.Time.After(last) && d.Time.UTC().Year() < 9999 {
			last = d.Time
		}
	}
	return last
}

// A Peek is a bounded look at the head of a queue: the messages were taken and put back.
type Peek struct {
	Queue QueueRef
	// At is when the look began, by our clock; Took how long messages were held.
	At       time.Time
	Took     time.Duration
	Messages []message.Message
	// Ready is the number of messages that were ready when it began.
	Ready int64
	// Short says why it ended before the limit though more were ready: "64 MiB were read"; empty when it did not.
	Short string
}
