package dedup

import "time"

// A QueueRef names one queue of a broker.
type QueueRef struct {
	Vhost string
	Name  string
}

// QueueNames are the names of queues, for a sentence about queues of one vhost.
func QueueNames(refs []QueueRef) []string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.Name
	}
	return names
}

// A Queue is one queue as the management API describes it. Every number is a pointer: absent is not 0.
type Queue struct {
	QueueRef
	Type       string // classic, quorum, stream, or what a plugin calls its own
	State      string // running, idle, flow, down, crashed, stopped, minority, ...
	Node       string
	Durable    bool
	AutoDelete bool
	Exclusive  bool
	Arguments  map[string]any
	// Policy is the effective policy definition, operator policy merged in; nil when there is none.
	Policy map[string]any
	// PolicyUnknown: the broker does not tell the effective policy, as just after a declaration or with statistics disabled.
	PolicyUnknown bool
	// OperatorPolicy names the operator policy that applies, whose limits are merged into Policy; empty when there is none.
	OperatorPolicy string
	Messages       *int64
	Ready          *int64
	Unacked        *int64
	Consumers      *int64
	// Bytes is how many bytes the bodies of all its messages have, as the broker counts them.
	Bytes *int64
	// HeadTimestamp is the timestamp property of the oldest message; classic queues only, and only if publishers set it.
	HeadTimestamp *time.Time
	// Entered numbers the messages that its own process took in, whoever sent them: unlike a counter of publishes it lacks none while the
	// process runs. One that is started again goes on, or begins at 0 or at some number above. It is as old as a depth; classic
	// queues of brokers up to 3.12.6 only.
	Entered  *int64
	Counters QueueCounters
}

// QueueCounters are the cumulative message_stats of one queue, as the broker counts them: they restart at 0, in part
// or whole, when a node restarts. Nil means that the broker did not say.
type QueueCounters struct {
	Publish      *int64
	Deliver      *int64
	DeliverNoAck *int64
	Get          *int64
	GetNoAck     *int64
	Redeliver    *int64
	Ack          *int64
}

// BrokerInfo is what a broker says of itself.
type BrokerInfo struct {
	Cluster   string
	Version   string
	Node      string
	RatesMode string // none, basic or detailed
	// StatsDisabled: the broker has no counters to give. QueueTotals: it still gives depths.
	StatsDisabled bool
	QueueTotals   bool
}

// BrokerState is the broker at a glance. A nil Nodes means that the nodes could not be read.
type BrokerState struct {
	Nodes []Node
	// QueuesDown are queues that cannot serve; QueuesMinority are quorum queues without a majority of members online.
	QueuesDown     []QueueRef
	QueuesMinority []QueueRef
}

// A Node is one node of a broker.
type Node struct {
	Name        string
	Running     bool
	MemoryAlarm bool
	DiskAlarm   bool
	// Partitions names the nodes that this one cannot see.
	Partitions []string
}

// A BrokerSample is one reading of a broker.
type BrokerSample struct {
	// At is when the reading began, by our clock.
	At     time.Time
	Took   time.Duration
	Info   BrokerInfo
	State  BrokerState
	Queues []Queue
	// QueuesTotal is the number of queues that the broker counts, nil if it does not say or if Queues may lack some that
	// moved while they were read. More than len(Queues) means that permissions hide some: the API answers 200 and a
	// shorter list.
	QueuesTotal *int64
	// ChannelsClosed is cumulative for the whole broker (churn_rates).
	ChannelsClosed *int64
	// ChannelsOpen are the channels that are open in the whole broker; nil if it does not say.
	ChannelsOpen *int64
	// Deaths are the counters of dead letters of each node; nil where the broker is not asked for them.
	Deaths []NodeDeaths
	// Totals are the message counters of each node; nil where the broker is not asked for them.
	Totals []NodeTotals
	// Log is what the broker's log told of ack timeouts; nil where nobody listens to it.
	Log *BrokerLog
	// Problems are what is wrong though the reading succeeded: hidden queues, statistics disabled, a lagging collector.
	Problems []Problem
}

// QueueTotals is the live, counter-free reading of queue depths.
type QueueTotals struct {
	At     time.Time
	Queues []Queue
}

// A Problem is something wrong that does not stop a reading, with what to do about it.
type Problem struct {
	Kind   string // stable word for machines: permission_missing, stats_disabled, rates_none, stats_late, ...
	Text   string
	Remedy string
}

// Topology is how queues are reached, for finding dead-letter queues.
type Topology struct {
	// At is when the reading began, by our clock.
	At        time.Time
	Took      time.Duration
	Exchanges []Exchange
	Bindings  []Binding
	Consumers []Consumer
	// Connections are the open connections, read after the consumers; nil when the broker does not tell.
	Connections []Connection
}

// A ChannelList is the open channels of a broker, and who consumes on them.
type ChannelList struct {
	// At is when the reading began, by our clock.
	At   time.Time
	Took time.Duration
	// Channels is nil where the broker does not tell, and so is Consumers, which were read after them.
	Channels  []Channel
	Consumers []Consumer
}

// A Channel is an open channel. Its name is that of its connection, which holds the ports, and a number that is used again.
type Channel struct {
	Name, Connection, Vhost, Node string
}

// A Connection is an open connection to a broker.
type Connection struct {
	Name string
	// Opened is the earliest time, by our clock, at which it can have been opened; zero when not known.
	Opened time.Time
	// Vhost and Protocol, as "AMQP 0-9-1" or "AMQP 1-0", are empty for a connection's first seconds.
	Vhost, Protocol string
}

// An Exchange is one exchange of a broker.
type Exchange struct {
	Vhost     string
	Name      string // empty for the default exchange
	Type      string
	Arguments map[string]any
	// Policy is the definition of the policy that applies to it; nil when there is none or it could not be read.
	Policy map[string]any
}

// A Binding leads from an exchange to a queue or another exchange.
type Binding struct {
	Vhost           string
	Source          string // empty for the default exchange
	Destination     string
	DestinationType string // queue or exchange
	RoutingKey      string
}

// A Consumer is one subscription to a queue.
type Consumer struct {
	Queue       QueueRef
	Channel     string
	Connection  string
	Tag         string
	Prefetch    int64
	AckRequired bool
}
