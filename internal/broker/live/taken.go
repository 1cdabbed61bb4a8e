package live

// A takenWatch tells, where the node has rows of queues, whether channels that went had taken more than their own rows say: the row of the
// queue counts that as well, and does not go.
type takenWatch struct {
	// took is what rows of channels say that they took, ahead what the row of the queue says beyond that: as of the last answer.
	took, ahead int64
	// settled is what ahead was when it last stayed the same, known false before that.
	settled int64
	known   bool
	// closed are the channels that went since then, and held something only if they had taken more than is known.
	closed int64
}

// look takes an answer in which so many such channels went. The rows of an answer are not all of one moment: what stays the same is believed.
func (w *takenWatch) look(t *tally, closed int64) {
	ahead := t.counts.taken() - w.took
	stays := ahead == w.ahead
	w.ahead = ahead
	w.closed = plus(w.closed, closed)
	if !stays || closed > 0 {
		return
	}
	more := w.closed
	if w.known {
		more = min(more, max(0, ahead-w.settled))
	}
	t.closed = plus(t.closed, more)
	w.closed, w.settled, w.known = 0, ahead, true
}
