package operation

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Set holds, by ID, what this process carries out, and what has ended and whose end is not written. It is safe for concurrent use.
type Set[T any] struct {
	// noun is what one of them is called: job.
	noun string
	// stopping is closed when nothing may begin any more.
	stopping chan struct{}
	// untidy wakes whoever tidies up.
	untidy  chan struct{}
	running sync.WaitGroup

	mu sync.Mutex
	// The rest is under mu.
	closed bool
	live   map[string]member[T]
	owed   map[string]*T
}

type member[T any] struct {
	one *T
	// gone is closed when this process does no more for it.
	gone chan struct{}
}

// NewSet returns an empty set of what is called by a noun.
func NewSet[T any](noun string) *Set[T] {
	return &Set[T]{noun: noun, stopping: make(chan struct{}), untidy: make(chan struct{}, 1), live: map[string]member[T]{}, owed: map[string]*T{}}
}

// Enlist makes something live, so that recovery leaves it alone and Wait waits for it, and reports whether it may run: not when the set is
// closed, when it runs already, or while its end is not written. Each success is given back by one LetGo or Retire.
func (s *Set[T]) Enlist(id string, one *T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, live := s.live[id]; live || s.closed || s.owed[id] != nil {
		return false
	}
	s.live[id] = member[T]{one, make(chan struct{})}
	s.running.Add(1)
	return true
}

// LetGo makes something live no more.
func (s *Set[T]) LetGo(id string) {
	s.mu.Lock()
	gone := s.live[id].gone
	delete(s.live, id)
	s.mu.Unlock()
	close(gone)
	s.running.Done()
}

// Retire lets something go, and has whoever tidies up look for what is left to do.
func (s *Set[T]) Retire(id string) {
	s.LetGo(id)
	select {
	case s.untidy <- struct{}{}:
	default: // it is about to look anyway
	}
}

// Tend tidies up at once, again after the time that each time says, and whenever something retires, until ctx ends.
func (s *Set[T]) Tend(ctx context.Context, tidy func(context.Context) (again time.Duration)) {
	for {
		timer := time.NewTimer(tidy(ctx))
		select {
		case <-ctx.Done():
		case <-s.untidy:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// Live returns what is live; nil for any other.
func (s *Set[T]) Live(id string) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id].one
}

// Gone is closed once this process does no more for what is live; nil for any other.
func (s *Set[T]) Gone(id string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id].gone
}

// IDs returns the IDs of all that is live, in order.
func (s *Set[T]) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.live))
}

// Known returns what this process knows better than the journal: what is live, or whose end is not written.
func (s *Set[T]) Known(id string) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, live := s.live[id]; live {
		return m.one
	}
	return s.owed[id]
}

// Owe notes something whose end is yet to be written.
func (s *Set[T]) Owe(id string, one *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed[id] = one
}

// Owed returns what has ended and whose end is not written; nil for any other.
func (s *Set[T]) Owed(id string) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed[id]
}

// Owing returns, by ID, all whose end is yet to be written.
func (s *Set[T]) Owing() map[string]*T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.owed)
}

// Written notes that an end is written.
func (s *Set[T]) Written(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owed, id)
}

// Background runs work that Wait waits for, unless the set is closed.
func (s *Set[T]) Background(work func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Go(work)
	}
}

// Close lets nothing begin any more.
func (s *Set[T]) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		close(s.stopping)
	}
	s.closed = true
}

// Stopping is closed when nothing may begin any more.
func (s *Set[T]) Stopping() <-chan struct{} { return s.stopping }

// Wait waits, within the bound of ctx, until nothing is under way.
func (s *Set[T]) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
