package live

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A Kind says what is counted of a queue.
type Kind int

// What is counted. A message that comes back and is delivered again counts again.
const (
	Acked         Kind = iota // messages that consumers acked, also such as they had fetched by basic.get
	Delivered                 // messages sent to consumers that ack
	DeliveredAuto             // messages sent to consumers that do not ack
	Got                       // messages fetched by basic.get, to be acked
	GotAuto                   // messages fetched by basic.get without an ack
	Redelivered               // those of the four before that had been delivered before
	Published                 // messages that publishers sent into the queue; only where Source is OfQueues
	Kinds
)

// Counts is one number for each Kind.
type Counts [Kinds]int64

// Unbounded is a high end that is not known.
const Unbounded = math.MaxInt64

// Lost is what a queue did that no row tells of any more: at least Low and at most High.
type Lost struct{ Low, High Counts }

// A Count is what a queue did since Since. Its numbers only grow, but for those of Open.
type Count struct {
	// Counts is what rows told.
	Counts Counts
	// Settled is what rows took along when they went, as it stays. Open is what those took along whose loss later readings still narrow.
	Settled, Open Lost
	// Closed are the channels that were closed and may have held something of it, Unseen those that came and went between two answers and may
	// have held something of any queue. MayBeClosed is how many more there may be of both until later readings tell.
	Closed, Unseen, MayBeClosed int64
	Since                       time.Time
	// Quiet is since when every open channel that may hold something of the queue has acked, or opened; zero where that is not known.
	Quiet time.Time
}

// Range returns between what ends the truth is.
func (c Count) Range() (low, high Counts) { return Between(Count{}, c) }

// Between returns at least and at most how much was done between two readings of a queue. They must be of one Reader, in this order, and
// the Since of the later must not be after the earlier one.
func Between(earlier, later Count) (low, high Counts) {
	for k := range low {
		rows := later.Counts[k] - earlier.Counts[k]
		low[k] = rows + max(0, later.Settled.Low[k]-earlier.Settled.Low[k]+later.Open.Low[k]-earlier.Open.High[k])
		if high[k] = Unbounded; later.Settled.High[k] != Unbounded && later.Open.High[k] != Unbounded {
			high[k] = rows + later.Settled.High[k] - earlier.Settled.High[k] + later.Open.High[k] - earlier.Open.Low[k]
		}
	}
	return low, high
}

// add adds what the same queue did on another node.
func (c *Count) add(more *Count) {
	c.Counts.add(&more.Counts)
	c.Settled.add(&more.Settled)
	c.Open.add(&more.Open)
	c.Closed, c.Unseen, c.MayBeClosed = plus(c.Closed, more.Closed), plus(c.Unseen, more.Unseen), plus(c.MayBeClosed, more.MayBeClosed)
	if more.Since.After(c.Since) {
		c.Since = more.Since
	}
	if more.Quiet.Before(c.Quiet) {
		c.Quiet = more.Quiet
	}
}

func (l *Lost) add(more *Lost) {
	l.Low.add(&more.Low)
	l.High.add(&more.High)
}

// A Source says which rows were counted.
type Source string

// The sources.
const (
	OfQueues   Source = "queues"   // a row for each queue, on every node
	OfChannels Source = "channels" // a row for each channel and queue, on some node at least
)

// A Reading is what all queues of a broker did, as it was between Begun and Done.
type Reading struct {
	Begun, Done time.Time
	// Since is since when every node was counted without a restart.
	Since  time.Time
	Source Source
	// TooSlow says that the answer took so long that its moment is not known well enough. The counts are right.
	TooSlow bool
	// Gap is set when a node did not answer. The counts lack what it did since Gap.Since, and have it again once it answers.
	Gap *Gap
	// Rows is how many rows were read; Unreadable is how many were not, or have no queue that can be told.
	Rows, Unreadable int
	// Next is how long to wait before the next reading.
	Next time.Duration

	queues map[dedup.QueueRef]Count
}

// A Gap says which nodes did not answer.
type Gap struct {
	// Since is when the first of them last answered; zero when one never did.
	Since time.Time
	Nodes []*Error
}

// Count returns what a queue did; false of one that is not watched, or was not when the reading began.
func (r *Reading) Count(queue dedup.QueueRef) (Count, bool) {
	count, ok := r.queues[queue]
	return count, ok
}

// plus adds without passing Unbounded.
func plus(a, b int64) int64 {
	if a > Unbounded-b {
		return Unbounded
	}
	return a + b
}

func (c *Counts) add(more *Counts) {
	for k := range c {
		c[k] = plus(c[k], more[k])
	}
}
