package dedup

import "time"

// A DeadLetter is a message in a dead-letter queue.
type DeadLetter struct {
	Message
	// Queue is the dead-letter queue that holds it.
	Queue QueueRef
	// Ref identifies the message by what it is: the SHA-256 in hex of the queue, the exchange and routing key, the properties with
	// all headers, and the body, as MessageRef makes it. The broker has no other name for it. Two copies of one message have one Ref.
	Ref string
	// Deaths is the death history, newest first; empty when the message has none that can be read.
	Deaths []Death
	// Malformed says what of the death history could not be read; empty when all could. A client may have sent it so.
	Malformed string
}

// The reasons of a death, as RabbitMQ writes them.
const (
	DeathRejected      = "rejected"
	DeathExpired       = "expired"
	DeathMaxLength     = "maxlen"
	DeathDeliveryLimit = "delivery_limit"
)

// A Death is one entry of the header x-death: how often, why and where from a message was dead-lettered
// (https://www.rabbitmq.com/docs/dlx#effects).
type Death struct {
	Queue  string
	Reason string
	// Count is how often; 0 when the history does not say.
	Count int64
	// Time is that of the first death for this queue and reason, to the second; zero when absent.
	Time        time.Time
	Exchange    string
	RoutingKeys []string
	// OriginalExpiration is the expiration that the broker removed, in milliseconds as text; empty when there was none.
	OriginalExpiration string
}
