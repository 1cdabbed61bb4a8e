package dedup

// MaxRoutes is the most ways of dead letters that a snapshot tells of one pipeline.
const MaxRoutes = 200

// A RouteRole is what the queue at the end of a dead letter's way is to the pipeline.
type RouteRole string

// The roles of a queue that dead letters are routed to.
const (
	// RouteDeadLetter is a dead-letter queue: messages stay there until somebody moves them.
	RouteDeadLetter RouteRole = "dead-letter"
	// RouteDelay is a queue in which messages wait between two attempts: it has a time to live, and its own dead letters lead
	// back to a source queue.
	RouteDelay RouteRole = "delay"
	// RouteSource is a source queue of the pipeline: the message is attempted again.
	RouteSource RouteRole = "source"
	// RouteStream is a stream, which got no dead letters from RabbitMQ 3.10 unless they were sent at least once.
	RouteStream RouteRole = "stream"
	// RouteMissing leads nowhere: an exchange or a queue is missing, or nothing matches the routing key.
	RouteMissing RouteRole = "missing"
)

// A DeadLetterRoute is one way that dead letters take: from a queue through its dead-letter exchange to one queue
// (https://www.rabbitmq.com/docs/dlx).
type DeadLetterRoute struct {
	// Source is the queue whose dead letters are routed; its Name is empty for a queue that the configuration lists and that no
	// way was found to.
	Source QueueRef
	// Exchange is the dead-letter exchange, empty for the default exchange.
	Exchange string
	// RoutingKey is the configured key. With KeyKept there is none, and each message keeps its own keys.
	RoutingKey string
	KeyKept    bool
	// Target is the queue at the end; its Name is empty where the message leads nowhere.
	Target QueueRef
	Role   RouteRole
	// Certain says that every dead letter of the source takes this way; without it only some may, as Note says.
	Certain bool
	// Origin is where the setting was found: "argument x-dead-letter-exchange", "policy dead-letter-exchange", "listed".
	Origin string
	// Note is what to bear in mind, in words; empty when there is nothing.
	Note string
}
