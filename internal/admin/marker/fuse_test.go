package marker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

// fuse lets a number of calls pass and fails every one after that, as if the program were dead by then.
type fuse struct {
	mu   sync.Mutex
	left int // negative: never blows
	// late lets the call at which it blows take effect: the program dies right after it.
	late bool
}

var errDead = errors.New("the program is dead")

// burn returns whether the call takes effect, and its error.
func (f *fuse) burn() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.left < 0:
		return true, nil
	case f.left > 0:
		f.left--
		return true, nil
	}
	effect := f.late
	f.late = false
	return effect, errDead
}

// set lets so many calls pass from now on.
func (f *fuse) set(left int, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.late = left, late
}

// blown reports whether nothing takes effect any more.
func (f *fuse) blown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left == 0
}

// through makes a call through the fuse.
func (f *fuse) through(call func() error) error {
	effect, dead := f.burn()
	if effect {
		if err := call(); err != nil {
			return err
		}
	}
	return dead
}

// fusedAudit, fusedJournal and fusedActor die with the fuse.
type fusedAudit struct {
	*fuse
	audit interface {
		Record(context.Context, admin.Entry) error
	}
}

func (a fusedAudit) Record(ctx context.Context, e admin.Entry) error {
	return a.through(func() error { return a.audit.Record(ctx, e) })
}

type fusedJournal struct {
	marker.MarkerJournal
	*fuse
}

func (j fusedJournal) SavePlan(ctx context.Context, p marker.Plan) error {
	return j.through(func() error { return j.MarkerJournal.SavePlan(ctx, p) })
}

func (j fusedJournal) Begin(ctx context.Context, o marker.Operation, token string) (id string, err error) {
	dead := j.through(func() error { id, err = j.MarkerJournal.Begin(ctx, o, token); return err })
	return id, dead
}

func (j fusedJournal) End(ctx context.Context, id string, at time.Time, interrupted bool, stopped string) error {
	return j.through(func() error { return j.MarkerJournal.End(ctx, id, at, interrupted, stopped) })
}

func (j fusedJournal) Try(ctx context.Context, operation string, item int, at time.Time) error {
	return j.through(func() error { return j.MarkerJournal.Try(ctx, operation, item, at) })
}

func (j fusedJournal) Done(ctx context.Context, operation string, out marker.ItemOutcome) error {
	return j.through(func() error { return j.MarkerJournal.Done(ctx, operation, out) })
}

func (j fusedJournal) Keep(ctx context.Context, operation string, item int, image dedup.Sighting, until time.Time) error {
	return j.through(func() error { return j.MarkerJournal.Keep(ctx, operation, item, image, until) })
}

func (j fusedJournal) Claim(ctx context.Context, operation string, item int, restore, interrupted string) (image dedup.Sighting, err error) {
	dead := j.through(func() error {
		image, err = j.MarkerJournal.Claim(ctx, operation, item, restore, interrupted)
		return err
	})
	return image, dead
}

// fusedActor dies right before or right after it has changed the marker.
type fusedActor struct {
	*shelf
	*fuse
}

func (a fusedActor) Clear(ctx context.Context, seen dedup.Sighting, alsoRetry bool, keep func(dedup.Sighting) error) dedup.Outcome {
	out := dedup.Outcome{Result: dedup.NotDone}
	if err := a.through(func() error { out = a.shelf.Clear(ctx, seen, alsoRetry, keep); return nil }); err != nil {
		out.Text = fmt.Sprint(err)
	}
	return out
}
