package dedup

import "time"

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
	// Stopped says why it ended before its time, for people; "" where it did not.
	Stopped string
}
