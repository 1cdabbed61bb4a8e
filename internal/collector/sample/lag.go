package sample

import "time"

// How late what a broker or a store tells can be.
const (
	// CounterLag is how old a counter of the broker can be when it is read: channels emit every 5 s, the management
	// database collects and caches for up to a second more.
	CounterLag = 6 * time.Second
	// The database caches for cacheFold times as long as it took to collect, of which cacheUsual is within CounterLag, and for no longer
	// than cacheLongest as far as we care: a reading does not take longer than its timeout.
	cacheFold    = 5
	cacheUsual   = time.Second
	cacheLongest = time.Minute
	// DepthLag is how old the queue depth of a sample can be: the queue emits it every 5 s and the database collects every 5 s.
	DepthLag = 11 * time.Second
	// TransitDelay is the time between the moment a message is counted and the moment the depth of its queue shows it: a
	// queue answers for its depth before it takes what waits for it.
	TransitDelay = time.Second
	// SettleDelay is the time between the moment a consumer marks a message and the ack of its delivery.
	SettleDelay = time.Second
	// GiveUpDelay is the same between the last failure of a message that is given up and its ack.
	GiveUpDelay = time.Second
)
