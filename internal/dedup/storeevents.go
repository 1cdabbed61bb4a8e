package dedup

import "time"

// StoreEvents are what the notifications of a store told about its markers, with the command statistics of the same
// moment. Counts are cumulative within one Epoch and cannot be compared across two.
type StoreEvents struct {
	// At is when the counts were taken, by our clock: that is when the answer was there, at most Took after it was asked for.
	At   time.Time
	Took time.Duration
	// Listening is whether the subscription stands and has proved to deliver; Why says why not, and what to do.
	Listening bool
	Why       string
	// Epoch rises with each gap: a lost subscription, notifications switched off, an overflow, a failover. Since is when it
	// began, by our clock; everything since is counted.
	Epoch int64
	Since time.Time
	// Claims are markers that were born by a consumer that begins its work, Completions the first completions, Failures the
	// claims that were deleted, Expired the claims that expired, Evicted the markers that the store threw out.
	Claims      int64
	Completions int64
	Failures    int64
	// Retried are the claims of markers whose claim before was one of Failures, and not of GaveUp.
	Retried int64
	Expired int64
	Evicted int64
	// TellsEvicted is true where the server notifies of evictions, so that Evicted are all of them.
	TellsEvicted bool
	// Prolonged is how often a claim was written again, or its expiry set again, while the work went on.
	Prolonged int64
	// Cleared are those of Failures that our own clears of stuck markers made: no delivery failed.
	Cleared int64
	// GaveUp are failures at which the retry counter reached the scheme's limit: the delivery was acked without its work.
	GaveUp int64
	// Lost are the messages behind GaveUp whose work was not seen done since: one that was sent again and given up again is one of
	// them. It falls where such work is done after all.
	Lost int64
	// Again are completions of markers that were complete, or whose claim had ended: work that was done twice, or duplicates that renew their
	// marker. Twice are those of them that prove that work was done twice: it was claimed twice and completed twice.
	Again, Twice int64
	// Anew are completions of work that was completed before, and whose marker had expired or was deleted since, not by us.
	Anew int64
	// Unclear are those of Completions that may be duplicates instead, which wrote the marker again of work that was done before Since.
	Unclear int64
	// AgainIDs are ids of those, the newest first, at most 50.
	AgainIDs []string
	// InFlight are the claims that are open.
	InFlight int64
	// Asked counts the calls of Command since the server counts, of everybody: the command that a delivery of the scheme sends
	// exactly once, SETNX, GET or SET. Nil where the scheme has none, or the server does not tell. Our own calls are left out.
	Asked   *int64
	Command string
	// OpenSince are the births of the claims that are open for longer than a moment, by our clock, the oldest first; nil where there are more
	// than are worth telling, or where the scheme tells no claim from a completion.
	OpenSince []time.Time
	// Missed counts the questions for markers that were not there, of everybody, nil where the server does not tell; OwnMissed bounds how many
	// of those were ours.
	Missed    *int64
	OwnMissed [2]int64
	// NoExpiry are claims that were born without an expiry, the oldest first, at most MaxListed.
	NoExpiry []Marker
	// Work is the distribution of the times from claim to completion.
	Work Sketch
	// Vanished is what the server that took the place of another one last has lost.
	Vanished Vanished
}

// Vanished are markers of work that was done which a server does not have that took the place of another one, as by a fail-over, or by a restart.
type Vanished struct {
	// At is when it was seen first, by our clock; zero where there was none.
	At time.Time
	// Asked are the markers that were looked for: those that were written last. Gone are those of them that are not there.
	Asked, Gone int64
}

// EventCounts are those of StoreEvents that are compared with what the broker counts, at one moment. Failures are without our own clears.
type EventCounts struct {
	Epoch                                                 int64
	Claims, Completions, Again, Failures, Retried, GaveUp int64
	// Unclear are among Completions.
	Unclear int64
	// Late says that events may have been heard late around the moment: some of before it may count as of after it.
	Late bool
}

// Plus adds counts of the same epoch.
func (c EventCounts) Plus(o EventCounts) EventCounts {
	c.Claims += o.Claims
	c.Completions += o.Completions
	c.Again += o.Again
	c.Unclear += o.Unclear
	c.Failures += o.Failures
	c.Retried += o.Retried
	c.GaveUp += o.GaveUp
	return c
}

// Minus is what was counted since others of the same epoch; its epoch is 0.
func (c EventCounts) Minus(o EventCounts) EventCounts {
	return EventCounts{Claims: c.Claims - o.Claims, Completions: c.Completions - o.Completions, Again: c.Again - o.Again, Unclear: c.Unclear - o.Unclear,
		Failures: c.Failures - o.Failures, Retried: c.Retried - o.Retried, GaveUp: c.GaveUp - o.GaveUp}
}

// WorkMet is what samples of the unacked messages met of the works that have ended since. Both sums are cumulative within one Epoch.
type WorkMet struct {
	Epoch int64
	// Met is the integral of the number of works under way over time, in seconds, by straight lines from sample to sample. Took is that integral as it
	// is: how long the works took together.
	Met, Took float64
}

// LiveCounts are what the queues of a broker delivered and took back, as of one moment.
type LiveCounts struct {
	// Began and Ended bound the moment by our clock.
	Began, Ended time.Time
	Queues       map[QueueRef]LiveCount
	// Why says why no queue is told of although the broker answered; empty where they are.
	Why string
	// Off says that the broker refused, and counts nothing so: its plugin is off, or too old.
	Off bool
	// Next is how long to wait before the next reading, as the broker bears it.
	Next time.Duration
}

// LiveCount is that of one queue. Counts only rise, and are compared among those of one Since alone.
type LiveCount struct {
	Since time.Time
	// Quiet is since when every open channel that may hold something of the queue has acked, or opened; zero where that is not known.
	Quiet time.Time
	// Acked are at least the deliveries that consumers acked. Unsure is how many more there may be: the broker lost them from the counts of
	// single queues, and they may be of others. Open is how many more there may be for the moment; later counts tell.
	Acked, Unsure, Open float64
	// Delivered are at least the deliveries to consumers that ack, those fetched one by one included, with what may be missing as of Acked.
	Delivered, DeliveredUnsure, DeliveredOpen float64
	// Fetched are those fetched one by one. Redelivered are at most the deliveries of what had been delivered before, automatic ones those that no consumer acks.
	Fetched, Redelivered, Automatic float64
	// Closed are the channels that were closed and may have held something of the queue, Unseen those that came and went so quickly that they
	// may have held something of any. MayBeClosed is how many more there may be of both until later counts tell.
	Closed, Unseen, MayBeClosed float64
}

// InsertStats are what the rows of a table tell of the inserts that made them. Counts are cumulative within one Epoch.
type InsertStats struct {
	// At is the time up to which inserts are counted, by our clock; it lies a settling time back, so that work in progress
	// has ended.
	At time.Time
	// Last is the time by which the newest of them had been given its id; at rest it stays behind.
	Last  time.Time
	Epoch int64
	Since time.Time
	// Why says why inserts cannot be counted, and what to do; empty when they can.
	Why string
	// IDs are the ids that inserts were given, Rows those of which a row is there. Each failed insert burned one.
	IDs  int64
	Rows int64
	// Next is the id that follows the last of them.
	Next int64
	// Done are the rows whose work was done, Undone those that failed or never ended, as of the settling time.
	Done   int64
	Undone int64
	// Failed are those of Undone whose row says that the work failed.
	Failed int64
	// WorkSum is the sum over Timed done rows of the time from their beginning to their end.
	WorkSum time.Duration
	Timed   int64
	// Resolution is that of the time columns: 1 s for a plain DATETIME, under which only a mean is unbiased.
	Resolution time.Duration
	// Lower is true where failed work deletes its row, so that the ids without a row are an upper bound of the hits.
	Lower bool
}
