package notify

import (
	"context"
	"sync"
	"time"
)

// A pace lets at most so many pass in any span of a length. A bucket that is filled steadily would let twice as many pass in the first
// one, and the receivers that ban a sender count strictly.
type pace struct {
	most   int
	length time.Duration

	mu     sync.Mutex
	passed []time.Time
}

// wait returns when the caller may pass, or with the error of ctx. Who gives up has taken nothing.
func (p *pace) wait(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest := p.take(time.Now())
		if rest <= 0 {
			return nil
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// take lets the caller pass now, and returns 0, or returns for how long there is no room.
func (p *pace) take(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.passed) > 0 && now.Sub(p.passed[0]) >= p.length {
		p.passed = p.passed[1:]
	}
	if len(p.passed) >= p.most {
		return p.passed[0].Add(p.length).Sub(now)
	}
	p.passed = append(p.passed, now)
	return 0
}

// spend takes all the room that there is at a time.
func (p *pace) spend(at time.Time) {
	for p.take(at) <= 0 {
	}
}
