package server

import (
	"sync"
	"time"

	"dedup-dashboard/internal/admin"
)

// editsKept bounds the edits whose changes a review can show.
const editsKept = 50

// A shownEdit is an edit with the message that it changes, for the review of its plan. It holds a body, so that it is kept in memory
// alone, and no longer than the plan can be carried out.
type shownEdit struct {
	edit   admin.Edit
	letter admin.Letter
}

// editShelf keeps edits by the plan that they belong to.
type editShelf struct {
	mu    sync.Mutex
	edits map[string]shownEdit
	made  map[string]time.Time
}

func newEditShelf() *editShelf {
	return &editShelf{edits: map[string]shownEdit{}, made: map[string]time.Time{}}
}

func (s *editShelf) keep(plan string, e shownEdit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	oldest := ""
	for id, at := range s.made {
		if now.Sub(at) > admin.PlanLife {
			s.drop(id)
		} else if oldest == "" || at.Before(s.made[oldest]) {
			oldest = id
		}
	}
	if len(s.made) >= editsKept {
		s.drop(oldest)
	}
	s.edits[plan], s.made[plan] = e, now
}

// drop forgets an edit; the caller holds mu.
func (s *editShelf) drop(plan string) {
	delete(s.edits, plan)
	delete(s.made, plan)
}

func (s *editShelf) find(plan string) (shownEdit, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.made[plan]) > admin.PlanLife {
		s.drop(plan)
	}
	e, ok := s.edits[plan]
	return e, ok
}
