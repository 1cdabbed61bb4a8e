package live

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// A row is a line of counters.
type row struct {
	tally   *tally // nil until the answer is committed that it came with
	queue   dedup.QueueRef
	channel string
	family  family
	last    Counts
	next    Counts // as the answer says that is being read
	answer  int64  // the number of the answer that last had this row
	// acked is when the row of a channel last counted an ack, or was new; zero where it was there before anything is known.
	acked time.Time
	// final is set once its channel is known to have ended before it was last read: it counts no more, and takes nothing along when it goes.
	final bool
}

// row takes one counter of one row.
func (n *node) row(m metric, labels, value []byte) {
	r := n.rows[string(labels)]
	if r == nil {
		r = &row{family: m.family}
		n.rows[string(labels)] = r
	}
	if r.answer != n.answer.number {
		r.answer, r.next = n.answer.number, r.last
		n.answer.rows++
	}
	count, ok := wholeCount(value)
	if !ok {
		n.answer.unreadable++
		return
	}
	r.next[m.kind] = count
}

// drop forgets the rows that came with an answer which will not be committed.
func (n *node) drop() {
	for key, r := range n.rows {
		if r.tally == nil {
			delete(n.rows, key)
		}
	}
}

// use starts to count the rows of a family. Those of channels stay: they say which channels are there.
func (n *node) use(f family) {
	n.family, n.since = f, time.Time{}
	for key, r := range n.rows {
		if r.family != f && r.family != channelRows {
			delete(n.rows, key)
		}
	}
}

// nameRows finds the queues of new rows, drops those of the family that is not counted, and returns how many channels are new, and how many
// of these were never listed.
func (n *node) nameRows() (appeared, unlisted int64) {
	how := escapingOf(n.answer.version)
	for key, r := range n.rows {
		if r.tally != nil {
			continue
		}
		if r.family != n.family && r.family != channelRows {
			delete(n.rows, key)
			continue
		}
		found, ok := readLabels(key, how)
		if !ok {
			n.answer.unreadable++
		}
		r.queue, r.tally = dedup.QueueRef{Vhost: found.vhost, Name: found.queue}, &n.others
		if t := n.queues[r.queue]; t != nil && ok {
			r.tally = t
		}
		if r.family == channelRows {
			r.channel = found.channel
			if n.channels[r.channel]++; n.channels[r.channel] == 1 {
				appeared++
				if _, listed := n.there[r.channel]; !listed {
					unlisted++
				}
			}
		}
	}
	return appeared, unlisted
}

// count adds what a row counted since the last answer. A new row counts whole; so does one that fell, as another of the same name. One
// that is gone adds nothing.
func (n *node) count(key string, r *row, at time.Time, first, restarted bool) {
	if r.answer != n.answer.number {
		n.remove(key, r, at)
		return
	}
	if r.family == channelRows && !r.final {
		if !first && !restarted && (r.last == (Counts{}) || r.next[Acked] != r.last[Acked]) {
			r.acked = at
		}
		r.tally.see(r)
	}
	if first || r.family != n.family {
		if !first {
			r.tally.watch.took += r.next.taken() - r.last.taken()
		}
		r.last = r.next
		return
	}
	fell := restarted
	for k := range r.next {
		fell = fell || r.next[k] < r.last[k]
	}
	if fell && r.last != (Counts{}) {
		n.noteGone(r, at)
		r.last = Counts{}
	}
	for k := range r.next {
		more := r.next[k] - r.last[k]
		r.tally.counts[k] = plus(r.tally.counts[k], more)
		n.sum[k] = plus(n.sum[k], more)
	}
	r.last = r.next
}

func (n *node) remove(key string, r *row, at time.Time) {
	delete(n.rows, key)
	if !r.final {
		n.noteGone(r, at)
	}
	if r.family == channelRows {
		if n.channels[r.channel]--; n.channels[r.channel] == 0 {
			delete(n.channels, r.channel)
			if _, listed := n.there[r.channel]; !listed && !r.final {
				n.rowless++
			}
		}
	}
}

// finish notes that channels ended before their rows were read. Brokers keep these for some seconds, and so they tell all that their channels did.
func (n *node) finish(ended map[string]bool) {
	if len(ended) == 0 {
		return
	}
	for _, r := range n.rows {
		if r.family != channelRows || !ended[r.channel] || r.tally == nil || r.answer != n.answer.number {
			continue
		}
		if r.final = true; r.last.taken() != r.last[Acked] {
			r.tally.closed++
		}
	}
}

// noteGone notes that a row took along what it had counted since the last answer.
func (n *node) noteGone(r *row, at time.Time) {
	if r.family == queueRows {
		r.tally.since = at
		return
	}
	settled := r.last.taken() == r.last[Acked]
	if !settled {
		r.tally.closed++
		n.gone.queues[r.tally] += 0
		return
	}
	n.gone.queues[r.tally]++
}
