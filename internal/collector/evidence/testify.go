package evidence

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// Testify adds what one broker says. A living owner holds its delivery on one of the brokers, so that moments of calm
// need not be common to them: the earlier of each two counts.
func (s *Queues) Testify(e *dedup.Evidence, first bool) {
	s.mu.Lock()
	still, last := s.calms.Until(e.At), s.calms.Last
	s.mu.Unlock()
	closed := s.closings.Until(e.At, s.ungot)
	if first {
		e.NothingOut, e.Empty, e.DeadLetters = still.NothingOut, still.Empty, still.Dead
		e.Closed, e.ClosedSince, e.NoConsumersSince = closed.At, closed.Since, s.deserted
		e.Consumers, e.Ready, e.Unacked, e.DeadLettersNow = s.consumers, last.Ready, last.Unacked, last.Dead
		return
	}
	for i := range e.NothingOut {
		e.NothingOut[i] = earlier(e.NothingOut[i], still.NothingOut[i])
		e.Empty[i] = earlier(e.Empty[i], still.Empty[i])
	}
	e.ClosedSince = earlier(e.ClosedSince, closed.Since)
	if e.Closed.Before(closed.At) {
		e.Closed = closed.At
	}
	if e.NoConsumersSince = later(e.NoConsumersSince, s.deserted); s.deserted.IsZero() {
		e.NoConsumersSince = time.Time{}
	}
	e.Consumers, e.Ready, e.Unacked = both(e.Consumers, s.consumers), both(e.Ready, last.Ready), both(e.Unacked, last.Unacked)
	e.DeadLetters, e.DeadLettersNow = both(e.DeadLetters, still.Dead), both(e.DeadLettersNow, last.Dead)
}

// earlier returns the earlier of two times, zero when one of them is.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && a.Before(b)) {
		return a
	}
	return b
}

// later returns the later of two times, zero when one of them is.
func later(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && a.After(b)) {
		return a
	}
	return b
}

// both adds two numbers; nil when one is not known.
func both(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}
