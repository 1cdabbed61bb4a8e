package truth

import (
	"context"
	"errors"
	"time"

	"dedup-dashboard/lab/schemes"
)

var errFails = errors.New("the work fails, as the knobs of the case ask")

// A worker is the work of one case's consumers, with its troubles.
type worker struct {
	fate  fate
	tally *tally
}

// work takes its time, and then dies, fails or is done.
func (w worker) work(ctx context.Context, id string) error {
	started := time.Now()
	if !wait(ctx, w.fate.work(id)) {
		return errors.Join(schemes.ErrDied, ctx.Err())
	}
	if watch := watchOf(ctx); watch != nil {
		watch.work = time.Since(started)
	}
	if w.tally.dies(id, w.fate.crashes(id)) {
		return schemes.ErrDied
	}
	if w.tally.fails(id, w.fate.failures(id)) {
		return errFails
	}
	w.tally.completed(id)
	return nil
}

// claimed dies between the claim and its expiry.
func (w worker) claimed(_ context.Context, id string) error {
	if w.tally.dies(id, w.fate.endless(id)) {
		return schemes.ErrDied
	}
	return nil
}

// wait returns false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
