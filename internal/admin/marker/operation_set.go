package marker

import (
	"slices"
	"sync"
)

// An operationSet holds the operations that this process carries out, and those that it could not end. It is safe for concurrent use.
type operationSet struct {
	// stopping is closed when no further item may begin.
	stopping chan struct{}
	mu       sync.Mutex
	// Under mu: whether the set is closed, and the operations that this process is carrying out.
	closed bool
	live   map[string]bool
	// left are operations of this process that could not be ended, and why they were stopped.
	left    map[string]string
	running sync.WaitGroup
	// untidy wakes the recovery when an operation was left.
	untidy chan struct{}
}

func newOperationSet() *operationSet {
	return &operationSet{stopping: make(chan struct{}), live: map[string]bool{}, left: map[string]string{}, untidy: make(chan struct{}, 1)}
}

// close lets no further item begin.
func (s *operationSet) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.stopping)
}

// enlist makes an operation live, so that recovery leaves it alone and Close waits for it, and reports whether it may run:
// not when the set is closed. Each success is given back by one retire.
func (s *operationSet) enlist(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.live[id] = true
	s.running.Add(1)
	return true
}

func (s *operationSet) retire(id string) {
	s.mu.Lock()
	delete(s.live, id)
	_, left := s.left[id]
	s.mu.Unlock()
	s.running.Done()
	if !left {
		return
	}
	select {
	case s.untidy <- struct{}{}:
	default: // the recovery is about to look anyway
	}
}

// leave notes that an operation could not be ended, and why it was stopped.
func (s *operationSet) leave(id, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left[id] = why
}

// whyLeft says why an operation that has not ended was stopped, and whether that was the end of an earlier run.
func (s *operationSet) whyLeft(id string) (why string, interrupted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why, ours := s.left[id]; ours {
		return why, why == stoppedByEnd
	}
	return "the program ended in the middle", true
}

func (s *operationSet) completed(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.left, id)
}

func (s *operationSet) isLive(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

func (s *operationSet) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.live))
	for id := range s.live {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
