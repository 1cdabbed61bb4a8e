// Package records reads and writes, beside the rounds of the collector, what is kept on this machine: a disk that is slow delays no figure.
package records

import (
	"context"
	"sync"
	"time"
)

const (
	// patience is how long a round waits for what is kept on this machine: a healthy disk answers sooner.
	patience = 5 * time.Millisecond
	// timeout bounds a reading or writing of what is kept on this machine; the first round of all waits as long for it.
	timeout = time.Second
	// tooLong is how long a reading may be under way before it is told of: it has not heeded timeout for long.
	tooLong = 10 * timeout
)

// A background asks for what is kept on this machine beside the round. What comes late is taken by the next round, and until then what was
// known before stands. It belongs to the round.
type background[T any] struct {
	// answer is that of the reading under way; nil while there is none.
	answer chan T
	// begun: there was a reading before.
	begun bool
	// since is when the reading under way began; told: somebody was told that it does not end.
	since time.Time
	told  bool
}

// stuck reports, once for each reading, that the one under way does not end, as where a disk hangs: until it does nothing new is read.
func (b *background[T]) stuck() bool {
	if b.answer == nil || b.told || time.Since(b.since) < tooLong {
		return false
	}
	b.told = true
	return true
}

// next begins a reading, unless one is under way, and waits a moment for it. It takes each answer that there is, in order.
func (b *background[T]) next(ctx context.Context, beside *sync.WaitGroup, read func(context.Context) T, take func(T)) {
	select {
	case late := <-b.answer: // never, while there is none
		b.answer = nil
		take(late)
	default:
	}
	wait := patience
	if !b.begun {
		b.begun, wait = true, timeout
	}
	if b.answer == nil {
		answer := make(chan T, 1)
		b.answer, b.since, b.told = answer, time.Now(), false
		beside.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			answer <- read(bounded)
		})
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case v := <-b.answer:
		b.answer = nil
		take(v)
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Settled waits for what is under way beside the rounds, and reports whether it ended in time: a disk that hangs must not keep the
// program from ending.
func Settled(beside *sync.WaitGroup) bool {
	ended := make(chan struct{})
	go func() {
		beside.Wait()
		close(ended)
	}()
	timer := time.NewTimer(2 * timeout)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}
