package message

// A Delivery is a message that a queue has handed out and holds until it is settled.
type Delivery struct {
	Message
	// Tag is the broker's name for the delivery. It means something on the channel that delivered it alone.
	Tag uint64
	// Left is how many messages were ready behind it, where the broker said so; else -1.
	Left int64
}

// An Answer is what came of one message that was published with the flag mandatory on a channel with confirms.
type Answer struct {
	Outcome PublishOutcome
	// Text says why, in the broker's words: "NO_ROUTE"; empty when confirmed.
	Text string
}

// A PublishOutcome is the outcome of one publish.
type PublishOutcome string

// The outcomes of a publish. Only Confirmed means that the message is in a queue.
const (
	// Confirmed: the broker has it, and it was not returned.
	Confirmed PublishOutcome = "confirmed"
	// Returned: no queue took it. The broker acks it all the same.
	Returned PublishOutcome = "returned"
	// Rejected: the broker nacked it, as a full queue with overflow reject-publish does.
	Rejected PublishOutcome = "rejected"
	// AnswerLost: the channel or connection ended first. The message may be in a queue or not.
	AnswerLost PublishOutcome = "unknown"
)
