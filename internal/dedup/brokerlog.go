package dedup

import "time"

// A BrokerLog is what the log of a broker told of ack timeouts: channels that the broker closed because a consumer held a
// delivery for longer than consumer_timeout. Counts are ours, cumulative since the dashboard started.
type BrokerLog struct {
	// Listening is whether the log is being followed now. Why says why not, and Better what to do about it.
	Listening bool
	Why       string
	Better    string
	// Epoch rises with each beginning to listen, and Since is when the newest began, by our clock: between two of them lines
	// may have been missed.
	Epoch int64
	Since time.Time
	// Overflowed is when lines were last found that came faster than they were read, so that some may have been lost; zero
	// while none was.
	Overflowed time.Time
	// Heard are the nodes that published a line since then. The exchange outlives the setting that fills it, so that only a
	// node that was heard is known to publish what it logs.
	Heard map[string]bool
	// Named are the timeouts of queues that the log names, as RabbitMQ 3.13 to 4.2 do; Unnamed those of the others.
	Named   map[QueueRef]int64
	Unnamed int64
}

// TimeoutsNamed reports whether the broker's log names the queue of an ack timeout, and TimeoutsLogged whether every ack
// timeout is logged at all: from 4.3 on classic queues have none, and quorum queues cancel the consumer without a line. A
// version that cannot be read is taken for one that names and logs.
func (i BrokerInfo) TimeoutsNamed() bool {
	major, minor, ok := i.release()
	return !ok || major > 3 || major == 3 && minor >= 13
}

// TimeoutsLogged is described with TimeoutsNamed.
func (i BrokerInfo) TimeoutsLogged() bool {
	major, minor, ok := i.release()
	return !ok || major < 4 || major == 4 && minor < 3
}
