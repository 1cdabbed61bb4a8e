package requeue

// A Stop is why a run ended.
type Stop string

// The reasons. After all but StopLimit and StopEmpty there may be more to move; after all but StopFragile Run may be called again
// with the same name. It stops for the same reason again where that has not been fixed.
const (
	// StopLimit: as many messages were taken as were ready when it began. StopEmpty: the queue has no more.
	StopLimit Stop = "limit"
	StopEmpty Stop = "empty"
	// StopCancelled: its context has ended.
	StopCancelled Stop = "cancelled"
	// StopBounced: a message that it had sent came back. Everything behind it in the queue is newer than the run.
	StopBounced Stop = "bounced"
	// StopHeld: too many messages that are left out would have to be kept in hand.
	StopHeld Stop = "held"
	// StopTarget: a target takes nothing, or too many messages could not be published.
	StopTarget Stop = "target"
	// StopBlocked: the broker read nothing that was published for too long, as it does when it is short of memory or disk.
	StopBlocked Stop = "blocked"
	// StopAge: a message has been in hand for so long that the broker would soon take it away.
	StopAge Stop = "age"
	// StopFragile: the queue would destroy a message that comes back a few more times, and it could not be moved. Run must not be
	// called again before the queue's delivery limit was raised.
	StopFragile Stop = "fragile"
	// StopDecide: nobody could say what becomes of the messages. StopReport: nobody could take down what became of them.
	StopDecide Stop = "decide"
	StopReport Stop = "report"
	// StopConnection: the broker could not be reached for too long, or every connection to it ended at once; or another consumer has
	// the queue.
	StopConnection Stop = "connection"
)

// Text says in words why a run ended so.
func (s Stop) Text() string {
	switch s {
	case StopLimit:
		return "as many messages were taken as were ready when it began"
	case StopEmpty:
		return "the queue has no more messages ready"
	case StopCancelled:
		return "it was told to stop"
	case StopBounced:
		return "a message that this run had sent came back: everything behind it in the queue is newer than the run"
	case StopHeld:
		return "too many messages that are left out would have to be held"
	case StopTarget:
		return "too many messages could not be sent to their target"
	case StopBlocked:
		return "the broker did not read what was published to it for too long"
	case StopAge:
		return "a message has been held for so long that the broker would soon take it away"
	case StopFragile:
		return "a message could not be moved that its queue destroys if it comes back a few more times; raise the delivery limit of the queue before more is moved out of it"
	case StopDecide:
		return "it could not be decided what becomes of the messages"
	case StopReport:
		return "what became of the messages could not be taken down"
	case StopConnection:
		return "the broker could not be reached for too long"
	}
	return string(s)
}
