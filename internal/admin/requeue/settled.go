package requeue

import "time"

// An Outcome is what became of one message of a run.
type Outcome string

// The outcomes. Only a message that moved has left its queue; every other is in it when the run has ended.
const (
	// Moved: confirmed at its target, and acked at its source.
	Moved Outcome = "moved"
	// Left: it was to stay, or cannot be sent as it is.
	Left Outcome = "left"
	// Bounced: this run had sent it, and it came back.
	Bounced Outcome = "bounced"
	// Guarded: it was to be sent, and has been requeued too often.
	Guarded Outcome = "guarded"
	// Returned: no queue took it.
	Returned Outcome = "returned"
	// Rejected: the target refused it, as a full one does.
	Rejected Outcome = "rejected"
	// Unknown: it was published and no answer came, so that it may be at its target as well; or its ack could not be sent, so that it
	// is. Text says which.
	Unknown Outcome = "unknown"
)

// A Settled is one message of which a run knows what became. A message that was not moved goes back into the queue when the connection
// ends; if the run goes on with another, it is taken and settled again, under a new number.
type Settled struct {
	// Seq numbers the messages of a run in the order in which they were taken, from 1.
	Seq int64
	// Ref identifies the message; see dedup.DeadLetter. MessageID is its property of that name.
	Ref       string
	MessageID string
	Bytes     int
	// Decision is what was decided; zero for messages that were not asked about: those that bounced.
	Decision Decision
	Outcome  Outcome
	// Text says why, in words or in those of the broker; empty when it moved.
	Text string
	At   time.Time
	// Counts is how the run stands with it.
	Counts Counts
}

// Counts are how many messages went where. Those that were put back before anything was done with them are in none. When a connection
// has ended, all but those that moved are counted anew, for they are taken again.
type Counts struct {
	Moved int64
	// Repeated are moves of messages that came again after a lost connection and are like one that had moved, whose ack may have been
	// lost: so many copies there may be. Where messages are identical in all that identifies them, it cannot be told which of them
	// came again. They are not counted in Moved again.
	Repeated int64
	Left     int64
	Bounced  int64
	Guarded  int64
	Returned int64
	Rejected int64
	Unknown  int64
}

// add counts one message.
func (c *Counts) add(o Outcome) {
	switch o {
	case Moved:
		c.Moved++
	case Left:
		c.Left++
	case Bounced:
		c.Bounced++
	case Guarded:
		c.Guarded++
	case Returned:
		c.Returned++
	case Rejected:
		c.Rejected++
	case Unknown:
		c.Unknown++
	}
}

// kept is how many messages are in hand because they were to stay; failed how many because they could not be published.
func (c *Counts) kept() int64   { return c.Left + c.Bounced + c.Guarded }
func (c *Counts) failed() int64 { return c.Returned + c.Rejected }

// A Result is how a run ended.
type Result struct {
	Counts
	Stop Stop
	// Text says why it stopped, in words.
	Text string
	// Reconnects is how often it lost a connection and went on. Each may have made a window of copies at most.
	Reconnects int
	// Uncertain is true when a connection ended with the run: messages that moved last may be in the queue as well.
	Uncertain bool
}
