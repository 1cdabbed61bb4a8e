package requeue

import (
	"context"
	"time"
)

// catchUp is how much lateness a pacer makes up for: timers are late by a little each time, and would slow a fast run down.
const catchUp = 100 * time.Millisecond

// A pacer spaces turns evenly: in any time t it gives rate × (t + catchUp) turns and one, at most.
type pacer struct {
	every time.Duration // 0 for no limit
	next  time.Time
}

func newPacer(rate float64) pacer {
	if rate <= 0 {
		return pacer{}
	}
	return pacer{every: time.Duration(min(float64(time.Second)/rate, float64(24*time.Hour)))}
}

// wait returns when it is time for the next turn, and takes it, or with the error of its context.
func (p *pacer) wait(ctx context.Context) error {
	if err := p.due(ctx); err != nil {
		return err
	}
	p.next = p.next.Add(p.every)
	return nil
}

// due returns when it is time for the next turn, which stays to be taken, or with the error of its context.
func (p *pacer) due(ctx context.Context) error {
	if p.every == 0 {
		return ctx.Err()
	}
	now := time.Now()
	if p.next.IsZero() {
		p.next = now
	}
	if earliest := now.Add(-catchUp); p.next.Before(earliest) {
		p.next = earliest
	}
	pause := p.next.Sub(now)
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
