package collector

import (
	"context"
	"sync"
	"time"
)

const (
	// asidePatience is how long a round waits for what is kept on this machine: a healthy disk answers sooner.
	asidePatience = 5 * time.Millisecond
	// asideTimeout bounds a reading or writing of what is kept on this machine; the first round of all waits as long for it.
	asideTimeout = time.Second
	// asideStuck is how long a reading may be under way before it is told of: it has not heeded asideTimeout for long.
	asideStuck = 10 * asideTimeout
)

// An aside asks for what is kept on this machine beside the round: a disk that is slow must not delay the figures. What comes late
// is taken by the next round, and until then what was known before stands. It belongs to the round.
type aside[T any] struct {
	// answer is that of the reading under way; nil while there is none.
	answer chan T
	// begun: there was a reading before.
	begun bool
	// since is when the reading under way began; told: somebody was told that it does not end.
	since time.Time
	told  bool
}

// stuck reports, once for each reading, that the one under way does not end, as where a disk hangs: until it does nothing new is read.
func (a *aside[T]) stuck() bool {
	if a.answer == nil || a.told || time.Since(a.since) < asideStuck {
		return false
	}
	a.told = true
	return true
}

// settled waits for what is under way beside the rounds, and reports whether it ended in time: a disk that hangs must not keep the
// program from ending.
func settled(beside *sync.WaitGroup, patience time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		beside.Wait()
		close(ended)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

// next begins a reading, unless one is under way, and waits a moment for it. It takes each answer that there is, in order.
func (a *aside[T]) next(ctx context.Context, beside *sync.WaitGroup, read func(context.Context) T, take func(T)) {
	select {
	case late := <-a.answer: // never, while there is none
		a.answer = nil
		take(late)
	default:
	}
	patience := asidePatience
	if !a.begun {
		a.begun, patience = true, asideTimeout
	}
	if a.answer == nil {
		answer := make(chan T, 1)
		a.answer, a.since, a.told = answer, time.Now(), false
		beside.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, asideTimeout)
			defer cancel()
			answer <- read(bounded)
		})
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-a.answer:
		a.answer = nil
		take(v)
	case <-timer.C:
	case <-ctx.Done():
	}
}
