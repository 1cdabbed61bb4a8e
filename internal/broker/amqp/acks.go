package amqp

import "time"

const (
	// maxAcks is how many acks wait to be sent as one, and ackDelay for how long. While they wait, the broker counts their messages
	// among those that it has sent ahead; so they add nothing to the copies that a crash can make.
	maxAcks  = 32
	ackDelay = 5 * time.Millisecond
)

// acks sends the acks of a channel, several as one with the flag multiple where that says the same. Such an ack takes every message
// up to a tag out of the queue, so it is sent only for a tag below which every delivery was settled by its own call; one behind a
// delivery that is still held is sent by itself. Delivery tags of a channel count from 1 without a gap.
//
// The caller keeps its calls apart.
type acks struct {
	send func(tag uint64, multiple bool) error
	// low is the first tag that is not settled; beyond holds the settled ones behind it.
	low    uint64
	beyond map[uint64]struct{}
	// top is the highest tag whose ack waits, and waiting their number. All tags up to top are settled.
	top     uint64
	waiting int
	timer   *time.Timer
}

// newAcks returns acks that are sent by send; later is called after a while when some wait, and must call flush.
func newAcks(send func(tag uint64, multiple bool) error, later func()) acks {
	timer := time.AfterFunc(time.Hour, later)
	timer.Stop()
	return acks{send: send, low: 1, beyond: map[uint64]struct{}{}, timer: timer}
}

// skip notes a delivery that was settled otherwise.
func (a *acks) skip(tag uint64) {
	a.beyond[tag] = struct{}{}
	for {
		if _, settled := a.beyond[a.low]; !settled {
			return
		}
		delete(a.beyond, a.low)
		a.low++
	}
}

// add acks one delivery, now or soon.
func (a *acks) add(tag uint64) error {
	a.skip(tag)
	if tag >= a.low {
		return a.send(tag, false)
	}
	a.top = tag // higher than any before it, for all below low are settled
	a.waiting++
	switch a.waiting {
	case maxAcks:
		return a.flush()
	case 1:
		a.timer.Reset(ackDelay)
	}
	return nil
}

// flush sends the acks that wait.
func (a *acks) flush() error {
	if a.waiting == 0 {
		return nil
	}
	a.timer.Stop()
	multiple := a.waiting > 1
	a.waiting = 0
	return a.send(a.top, multiple)
}
