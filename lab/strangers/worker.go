package main

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A worker handles one delivery after the other.
type worker struct {
	*pipeline
	ch      *amqp.Channel
	waiting []pending
}

// pending is acked later, with others.
type pending struct {
	arrival
	how string
}

// run works until it is stopped, which acks what is pending, or until life ends, which loses it.
func (w *worker) run(life context.Context, stop <-chan struct{}, arrivals <-chan arrival) {
	timer := time.NewTicker(2 * time.Second)
	defer timer.Stop()
	for {
		select { // an end comes before further arrivals
		case <-stop:
			w.flush()
			return
		case <-life.Done():
			w.lose()
			return
		default:
		}
		select {
		case <-stop:
		case <-life.Done():
		case <-timer.C:
			w.flush()
		case a, ok := <-arrivals:
			if !ok {
				w.lose()
				return
			}
			w.handle(life, a)
		}
	}
}

// flush acks all that is pending.
func (w *worker) flush() {
	if len(w.waiting) == 0 {
		return
	}
	if err := w.waiting[len(w.waiting)-1].Ack(true); err != nil {
		w.lose()
		return
	}
	at := now()
	for _, a := range w.waiting {
		e := a.event(kindAck, a.how)
		e.At = at
		w.ledger.ack(e)
	}
	w.waiting = nil
}

// lose notes that all that is pending comes back.
func (w *worker) lose() {
	for _, a := range w.waiting {
		w.ledger.add(a.event(kindDied, ""))
	}
	w.waiting = nil
}

// handle asks the scheme for a delivery and settles it.
func (w *worker) handle(life context.Context, a arrival) {
	h := &handling{pipeline: w.pipeline, id: a.id, copy: a.copy, died: life.Done()}
	v := notMine
	if !w.ignores(a.id) {
		var err error
		if v, err = w.scheme(context.WithoutCancel(life), h); err != nil {
			w.note("store", err)
			if v != worked { // which is done, but not marked
				v = storeTrouble
			}
		}
	}
	switch v {
	case notMine:
		w.ack(h, a, howIgnored)
	case worked:
		w.ack(h, a, howWork)
	case metDone:
		w.ack(h, a, w.ledger.met(a.id))
	case metFlight:
		w.settleFlight(life, h, a)
	case diedInWork:
		w.ledger.add(a.event(kindDied, ""))
	case storeTrouble:
		w.nack(life, a, true, 500*time.Millisecond)
	case failedWork:
		w.settleFailure(life, h, a)
	}
}

// settleFlight settles what met work in flight.
func (w *worker) settleFlight(life context.Context, h *handling, a arrival) {
	w.ledger.add(event{Kind: kindHit, ID: a.id})
	switch {
	case w.onFlight == ack:
		w.ack(h, a, w.ledger.met(a.id))
	case w.onFlight == reject:
		w.nack(life, a, false, 0)
	case w.flightBlocks || w.flightDelay == 0:
		w.nack(life, a, true, w.flightDelay)
	default:
		go w.nack(life, a, true, w.flightDelay)
	}
}

// settleFailure settles a message whose work failed.
func (w *worker) settleFailure(life context.Context, h *handling, a arrival) {
	switch {
	case w.autoAck || w.onFail == ack:
		w.ack(h, a, howFailed)
	case w.onFail == park && deaths(a.Headers, w.queues[0]) >= w.tries:
		w.note("park", w.sendTo(w.dead[0], a.id, nil))
		w.ack(h, a, howParked)
	case w.onFail == park || w.onFail == reject:
		w.nack(life, a, false, 0)
	case w.onFail == republish:
		n, _ := a.Headers["x-tries"].(int32)
		to := w.delay
		if int(n) >= w.tries {
			to = w.dead[0]
		}
		w.note("republish", w.sendTo(to, a.id, amqp.Table{"x-tries": n + 1}))
		w.ack(h, a, howFailed)
	case w.failDelay == 0:
		w.nack(life, a, true, 0)
	default:
		go w.nack(life, a, true, w.failDelay)
	}
}

// ack settles a delivery for good, at once or with others.
func (w *worker) ack(h *handling, a arrival, how string) {
	switch {
	case w.autoAck:
		w.ledger.add(a.event(kindAuto, how))
	case w.batch > 0:
		if w.waiting = append(w.waiting, pending{a, how}); len(w.waiting) >= w.batch {
			w.flush()
		}
	case a.Ack(false) != nil || !w.commit():
		w.ledger.add(a.event(kindDied, how))
		return
	default:
		w.ledger.ack(a.event(kindAck, how))
	}
	if h.afterAck != nil {
		h.afterAck()
	}
}

// nack returns a delivery to its queue after a delay, or rejects it.
func (w *worker) nack(life context.Context, a arrival, again bool, delay time.Duration) {
	kind := kindRejected
	if again {
		kind = kindRequeued
	}
	if !sleep(life, delay) || a.Nack(false, again) != nil || !w.commit() {
		kind = kindDied
	}
	w.ledger.add(a.event(kind, ""))
}

// commit ends the transaction of a channel that has them.
func (w *worker) commit() bool { return !w.tx || w.ch.TxCommit() == nil }
