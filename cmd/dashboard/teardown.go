package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// stepBound is how long one step of stopping may take, unless it was given longer.
const stepBound = 5 * time.Second

// teardown is a stack of named steps that stop what was started, last first.
type teardown struct{ steps []step }

type step struct {
	name  string
	bound time.Duration
	stop  func(context.Context) error
}

func (t *teardown) add(name string, stop func(context.Context) error) {
	t.addLonger(name, stepBound, stop)
}

// closing adds a step that closes something.
func (t *teardown) closing(name string, stop func() error) {
	t.add(name, func(context.Context) error { return stop() })
}

// addLonger adds a step that needs a bound of its own.
func (t *teardown) addLonger(name string, bound time.Duration, stop func(context.Context) error) {
	t.steps = append(t.steps, step{name, bound, stop})
}

// run carries out every step, each within its bound, and returns their errors. A step that hangs is left behind, so that
// one broken part never keeps the process from ending.
func (t *teardown) run(log *slog.Logger) error {
	var errs []error
	for i := len(t.steps) - 1; i >= 0; i-- {
		s := t.steps[i]
		if err := bounded(s.bound, s.stop); err != nil {
			log.Error("stopping went wrong", "step", s.name, "err", err)
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
	}
	t.steps = nil
	return errors.Join(errs...)
}

func bounded(bound time.Duration, stop func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- stop(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		// A step that ended together with its bound still counts.
		select {
		case err := <-done:
			return err
		default:
			return ctx.Err()
		}
	}
}

// waitFor waits for the group until the bound ends.
func waitFor(bound context.Context, group *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-bound.Done():
		return bound.Err()
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
