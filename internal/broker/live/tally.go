package live

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// A tally is what one queue did on a node.
type tally struct {
	counts Counts
	closed int64 // channels that had rows of it, went, and may have held something
	lost   Lost  // of segments that ended
	watch  takenWatch
	// still and moving are the rows of channels that hold something, as far as is known, and have counted nothing or something since the
	// answer before.
	still, moving int64
	quiet         time.Time // see Count
	since         time.Time // when it was first watched, or a row of the queue itself last went or fell
}

// watch sets the queues that are counted by themselves. One that is new counts from the next answer on.
func (n *node) watch(queues map[dedup.QueueRef]bool) {
	for queue := range n.queues {
		if !queues[queue] {
			delete(n.queues, queue)
		}
	}
	for queue := range queues {
		if n.queues[queue] == nil {
			n.queues[queue] = &tally{}
		}
	}
	for _, r := range n.rows {
		if r.tally = &n.others; n.queues[r.queue] != nil {
			r.tally = n.queues[r.queue]
		}
	}
}

// see notes a row of a channel that may hold something.
func (t *tally) see(r *row) {
	if r.next.taken() == r.next[Acked] {
		return
	}
	if r.acked.Before(t.quiet) {
		t.quiet = r.acked
	}
	switch {
	case r.next != r.last:
		t.moving++
	default:
		t.still++
	}
}

// taken is what consumers that ack were given.
func (c *Counts) taken() int64 { return plus(c[Delivered], c[Got]) }

// total returns what a queue did on this node.
func (n *node) total(t *tally) Count {
	count := Count{Counts: t.counts, Settled: t.lost, Closed: t.closed, Unseen: n.repair.unseen, Since: n.since, Quiet: t.quiet}
	if t.since.After(count.Since) {
		count.Since = t.since
	}
	if n.family == channelRows {
		count.Settled.High.add(&n.repair.shared)
		count.Open = n.repair.open(t)
		count.MayBeClosed = n.repair.mayBeClosed(t)
	} else {
		count.MayBeClosed = t.watch.closed
	}
	count.MayBeClosed = plus(count.MayBeClosed, min(n.lingering, t.still+min(n.recent, t.moving)))
	return count
}
