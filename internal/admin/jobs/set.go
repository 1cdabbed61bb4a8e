package jobs

import (
	"context"
	"fmt"
	"sync"
)

// A jobSet holds the jobs that this process carries out, and those that have ended and whose end is not written. It is safe for concurrent
// use.
type jobSet struct {
	mu     sync.Mutex
	closed bool                // under mu
	live   map[string]*liveJob // under mu
	// owed are jobs that have ended and whose end is not written, under mu.
	owed    map[string]*liveJob
	running sync.WaitGroup
	// untidy wakes the recovery when the end of a job could not be kept.
	untidy chan struct{}
}

func newJobSet() *jobSet {
	return &jobSet{live: map[string]*liveJob{}, owed: map[string]*liveJob{}, untidy: make(chan struct{}, 1)}
}

// enlist makes a job live and reports whether it may run: not when the set is closed, when it runs already, or while its end is not
// written.
func (s *jobSet) enlist(j *liveJob) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.live[j.job.ID] != nil || s.owed[j.job.ID] != nil {
		return false
	}
	s.live[j.job.ID] = j
	s.running.Add(1)
	return true
}

// letGo makes a job live no more.
func (s *jobSet) letGo(j *liveJob) {
	s.mu.Lock()
	if s.live[j.job.ID] == j {
		delete(s.live, j.job.ID)
	}
	s.mu.Unlock()
	close(j.done)
	s.running.Done()
}

// retire lets a job go that was worked on, and has the recovery look for what is left to do.
func (s *jobSet) retire(j *liveJob) {
	s.letGo(j)
	select {
	case s.untidy <- struct{}{}:
	default: // it is about to look anyway
	}
}

// carried returns a job that is live; nil for any other.
func (s *jobSet) carried(id string) *liveJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

// known returns a job that this process knows better than the journal.
func (s *jobSet) known(id string) *liveJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.live[id]; j != nil {
		return j
	}
	return s.owed[id]
}

// owe notes a job whose end is yet to be written.
func (s *jobSet) owe(j *liveJob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed[j.job.ID] = j
}

// owes reports whether the end of a job could not be written yet.
func (s *jobSet) owes(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed[id] != nil
}

// owing returns the jobs whose end is yet to be written.
func (s *jobSet) owing() []*liveJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	owed := make([]*liveJob, 0, len(s.owed))
	for _, j := range s.owed {
		owed = append(owed, j)
	}
	return owed
}

// written notes that the end of a job is written.
func (s *jobSet) written(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owed, id)
}

// background runs work that wait waits for, unless the set is closed.
func (s *jobSet) background(work func()) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.running.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		work()
	}()
}

// close lets nothing begin any more.
func (s *jobSet) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// wait waits, within the bound of ctx, until nothing is under way.
func (s *jobSet) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for messages that are being moved: %w", ctx.Err())
	}
}
