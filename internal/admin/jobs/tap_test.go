package jobs_test

import (
	"context"
	"sync"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/message"
)

// A tap hands out as many messages to the jobs of a scene as its test lets it: a job is in its midst for as long as the test needs,
// and not for as long as its rate and the machine allow.
type tap struct {
	mu sync.Mutex
	// left is how many messages may still be taken, below 0 any number; more is closed when that has changed.
	left int
	more chan struct{}
	// sources is how many sources were opened.
	sources int
}

func newTap() *tap { return &tap{left: -1, more: make(chan struct{})} }

// hold lets so many messages be taken from now on, and open any number.
func (p *tap) hold(n int) { p.set(func(int) int { return n }) }
func (p *tap) open()      { p.hold(-1) }

// drip lets one message more be taken.
func (p *tap) drip() { p.set(func(left int) int { return left + 1 }) }

func (p *tap) set(to func(left int) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = to(p.left)
	close(p.more)
	p.more = make(chan struct{})
}

func (p *tap) opened() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sources
}

// try takes one of those that are left, or returns what tells of more.
func (p *tap) try() (more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return p.more
	}
	p.left = max(-1, p.left-1)
	return nil
}

// on puts the tap on a source.
func (p *tap) on(source requeue.Source) requeue.Source {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources++
	return tappedSource{source, p}
}

type tappedSource struct {
	requeue.Source
	tap *tap
}

func (s tappedSource) Next(ctx context.Context) (message.Delivery, error) {
	for more := s.tap.try(); more != nil; more = s.tap.try() {
		select {
		case <-more:
		case <-ctx.Done():
			return message.Delivery{}, ctx.Err()
		}
	}
	return s.Source.Next(ctx)
}
