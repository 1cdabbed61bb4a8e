package dedup

import (
	"time"

	"dedup-dashboard/internal/message"
)

// A TracedDelivery is one delivery of a queue to a consumer as the broker's firehose showed it. Its body was dropped as soon as its id was known.
type TracedDelivery struct {
	// At is when the trace reached us, by our clock: mostly less than a millisecond after the delivery, seldom more than 100.
	// Deliveries of one Consumer come in the order in which they were made, those of two need not.
	At    time.Time
	Queue QueueRef
	// ID is the message's id by the pipeline's rule, "" where it has none; then NoID says why.
	ID, NoID string
	// Redelivered is the broker's flag: the message had been delivered before, and was not settled.
	Redelivered bool
	// Rejections is how often it had been rejected from this queue before, by its death history: a retry queue brought it back.
	Rejections int64
	// Consumer names the connection and the channel that it was delivered on.
	Consumer string
	// Exchange and RoutingKey are those by which the message came into the queue, UserID and AppID its properties: they tell copies of several
	// producers apart. Headers are its headers, for the same end, kept only where they are few and short.
	Exchange, RoutingKey, UserID, AppID string
	Headers                             map[string]any
}

// A Trace is every delivery that the firehose showed of some queues between two moments, in the order in which it reached us.
type Trace struct {
	// Began and Ended bound the time in which all deliveries were traced, by our clock.
	Began, Ended time.Time
	Deliveries   []TracedDelivery
	// Counted is how many deliveries the broker counted in the queues meanwhile, those to basic.get with them; Traced is how many the firehose
	// showed. A trace is complete where they agree.
	Counted, Traced float64
	// The broker's counts are bounds: Counted is the number within them that is nearest to Traced. Unsure is how many deliveries came so close to a
	// reading of them that they may be on either side of it; it is infinite where nothing was counted.
	Unsure float64
	// Stopped says why it ended before its time, for people; "" where it did not.
	Stopped string
}

// A TracedQueue is a queue to be traced, and where the ids of its messages stand.
type TracedQueue struct {
	QueueRef
	ID message.IDSource
}

// The shortest and the longest time of a trace.
const (
	MinTrace = time.Minute
	MaxTrace = 2 * time.Minute
)

// A TraceRequest asks for the deliveries of some queues of one vhost.
type TraceRequest struct {
	Queues []TracedQueue
	// For is from MinTrace to MaxTrace.
	For time.Duration
	// Wait is how long to wait for an operator to switch tracing on, where the account may not; 0 means 5 minutes.
	Wait time.Duration
	// Started is called once, with Began of the trace. Delivered is called for each delivery, one at a time and in their order; while it
	// runs no other is read, so it must not wait. Either may be nil.
	Started   func(began time.Time)
	Delivered func(TracedDelivery)
}

// A TraceSwitch says who switches a broker's tracing on.
type TraceSwitch string

// Who switches tracing on.
const (
	// TraceByUs is by the account, which has the tag administrator.
	TraceByUs TraceSwitch = "us"
	// TraceByOperator is by a person, with the commands of the readiness.
	TraceByOperator TraceSwitch = "operator"
	// TraceIsOn says that somebody has switched it on already: it is not touched, and stays on afterwards.
	TraceIsOn TraceSwitch = "on"
)

// A TraceReadiness says whether queues can be traced now.
type TraceReadiness struct {
	// Switch is "" where it is not known.
	Switch TraceSwitch
	// On and Off are the commands that switch tracing on and off, one for each node; for TraceByOperator alone.
	On, Off []string
	// Problems are why not; a trace can begin where there are none.
	Problems []TraceProblem
	// Advice is what would be safer, for people: a command that lets the account read the trace of these queues alone.
	Advice []string
	// Rate is how many messages a second are published and delivered in the vhost, and Bytes how many bytes come and go there; nil while unknown.
	Rate, Bytes *float64
}

// OK reports whether a trace can begin.
func (r TraceReadiness) OK() bool { return len(r.Problems) == 0 }

// A TraceProblem is one reason why queues cannot be traced.
type TraceProblem struct {
	Reason TraceReason
	// Text says it for people, and Remedy what to do; the second may be empty.
	Text, Remedy string
}

// A TraceReason is a stable word for machines.
type TraceReason string

// The reasons why queues cannot be traced.
const (
	TraceForbidden    TraceReason = "forbidden"     // measurements: off
	TraceNoAccount    TraceReason = "no_account"    // the broker has neither a measure: nor an act: account
	TraceBadRequest   TraceReason = "bad_request"   // no queue, queues of several vhosts, a name too long, a time out of bounds
	TraceUnreachable  TraceReason = "unreachable"   // the broker does not answer
	TraceNoPermission TraceReason = "no_permission" // the account may not bind to amq.rabbitmq.trace, or the watching one not see the vhost
	TraceNoQueue      TraceReason = "no_queue"      // there is no such queue or vhost
	TraceTaken        TraceReason = "taken"         // another trace of this broker runs
	TraceTooFast      TraceReason = "too_fast"      // more messages or bytes a second than a trace may add to
	TraceRateUnknown  TraceReason = "rate_unknown"  // the broker does not tell how many messages and bytes there are
	TraceAlarm        TraceReason = "alarm"         // a node is in alarm, down or parted, or a queue in flow
)

// A ClearedTrace is a trace of ours that a crash cut off, as it was found at the next start.
type ClearedTrace struct {
	Broker, Vhost string
	Began         time.Time
	// Off is when tracing was off again; zero where it is not, and Err says why.
	Off time.Time
	Err string
}
