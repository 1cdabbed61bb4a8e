package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"
)

// A verdict is what a consumer found out about a delivery.
type verdict int

const (
	worked verdict = iota
	metDone
	metFlight
	failedWork
	diedInWork
	storeTrouble
	notMine
)

// A scheme does the work of a message once. Its context outlives the consumer, as a command that was sent is done.
type scheme func(ctx context.Context, h *handling) (verdict, error)

// A handling is one delivery in the hands of a consumer.
type handling struct {
	*pipeline
	id       string
	copy     int64
	died     <-chan struct{} // closed when the consumer dies
	afterAck func()          // done once the ack was sent
}

var (
	errFailed = errors.New("the work failed")
	errDied   = errors.New("the consumer died")
)

// effect does the work.
func (h *handling) effect() error {
	attempt := h.ledger.begin(h.id)
	began := time.Now()
	var err error
	switch {
	case !wait(h.died, time.Duration(float64(h.median)*math.Exp(h.sigma*rand.NormFloat64()))):
		err = errDied
	case h.fails(h.id, attempt):
		err = errFailed
	}
	h.ledger.end(h.id, h.copy, time.Since(began), err)
	return err
}

// A marking is what a scheme does to the marker once the work has ended; nothing for what is nil.
type marking struct {
	claim, done  time.Duration // the lives of a claim, none if 0, and of a done marker
	ended        func()        // called first
	mark, remove func() error
}

// finish works, and marks that it is done or removes the claim.
func (h *handling) finish(m marking) (verdict, error) {
	err := h.effect()
	if m.ended != nil {
		m.ended()
	}
	switch {
	case errors.Is(err, errDied):
		if m.claim > 0 {
			h.orphaned(m.claim)
		}
		return diedInWork, nil
	case err != nil && m.remove == nil:
		return failedWork, nil
	case err != nil:
		return failedWork, m.remove()
	}
	if m.mark != nil {
		err = m.mark()
	}
	h.marked(m.done)
	return worked, err
}

// orphaned notes that a claim is left behind, for so long.
func (h *handling) orphaned(life time.Duration) {
	h.ledger.add(event{Kind: kindOrphan, ID: h.id, Dur: life.Microseconds()})
}

// marked notes that there is a done marker, for so long.
func (h *handling) marked(life time.Duration) {
	h.ledger.add(event{Kind: kindMark, ID: h.id, Dur: life.Microseconds()})
}

// inProcess tries failed work again within the delivery.
func inProcess(inner scheme, tries int) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		for n := 1; ; n++ {
			v, err := inner(ctx, h)
			if v != failedWork || err != nil || n == tries {
				return v, err
			}
			wait(h.died, 100*time.Millisecond)
		}
	}
}
