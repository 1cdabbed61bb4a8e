package alerts

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A silenceShelf holds the silences that were read last. Evaluations and those who make silences read them at the same time, so that the
// reading that began last is believed: an evaluation that read before a silence was made must not put it away.
type silenceShelf struct {
	mu   sync.Mutex
	held []Silence
	// begun counts the readings, and heldOf is which of them held comes from.
	begun, heldOf uint64
}

// refresh reads the silences and holds them, unless newer ones are held already.
func (s *silenceShelf) refresh(ctx context.Context, from silencer) error {
	s.mu.Lock()
	s.begun++
	reading := s.begun
	s.mu.Unlock()
	read, err := from.Silences(ctx)
	if err != nil {
		return err
	}
	read = compiled(read)
	s.mu.Lock()
	defer s.mu.Unlock()
	if reading > s.heldOf {
		s.held, s.heldOf = read, reading
	}
	return nil
}

// now returns the silences, which must not be changed.
func (s *silenceShelf) now() []Silence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// known reports whether the silences were ever read. Before that nothing may be told: all that they cover would be.
func (s *silenceShelf) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldOf > 0
}

// readSilences reads the silences for an evaluation, and waits no longer than its patience.
func (e *Engine) readSilences(ctx context.Context) error {
	if e.deps.Silences == nil {
		return nil
	}
	_, err := e.silencing.call(ctx, e.patience, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.silences.refresh(ctx, e.deps.Silences)
	})
	switch {
	case err == nil || ctx.Err() != nil:
	case e.silences.known():
		e.log.Warn("silences cannot be read; those that were known still hold", "err", err)
	default:
		e.log.Error("silences cannot be read; no alert changes and nothing is told until they can be", "err", err)
	}
	return err
}

func compiled(silences []Silence) []Silence {
	out := make([]Silence, len(silences))
	for i, s := range silences {
		out[i] = s.Compiled()
	}
	return out
}

// ReloadSilences reads the silences at once, so that a page shows the one that was just made or ended.
func (e *Engine) ReloadSilences(ctx context.Context) error {
	if e.deps.Silences == nil {
		return nil
	}
	if err := e.silences.refresh(ctx, e.deps.Silences); err != nil {
		return fmt.Errorf("read the silences: %w", err)
	}
	e.mu.Lock()
	e.republish(time.Now())
	e.mu.Unlock()
	e.deps.Changed(topicAlerts)
	return nil
}
