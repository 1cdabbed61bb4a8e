package alerts

import (
	"context"
	"errors"
	"slices"
	"time"
)

// keep commits the tick of the newest plan. When that fails the plan is taken back; while nobody knows yet it stays open.
func (e *Engine) keep(ctx context.Context, tick Tick) error {
	err := e.commit(ctx, tick)
	switch {
	case err == nil:
		e.unkept = nil
		clear(e.behind)
	case e.commits.waits() && !errors.Is(err, errUnderWay):
		e.open = &tick
	default: // it failed, or was not even tried behind another one
		e.undo()
	}
	return err
}

// overdue settles the tick that was left open, and reports whether notifications are in the outbox by it. It returns an error while the
// answer has not come: then nothing may be planned. To undo a plan that is kept would tell some of it twice, and the end of some never.
func (e *Engine) overdue() (due bool, err error) {
	if e.open == nil {
		return false, nil
	}
	answer, came := e.commits.late()
	if !came {
		return false, errUnderWay
	}
	tick := e.open
	e.open = nil
	if answer.err != nil {
		e.undo()
		return false, nil
	}
	e.unkept = slices.Clone(e.unkept[len(tick.Edges):]) // alerts that changed since are behind still
	return len(tick.Due) > 0, nil
}

// restsFor is how long alerts stand still for a commit that has not answered. What fired and ended while nothing can be planned would be in
// the history, and told to nobody. While a disk hangs for longer they go on, so that they are right when it answers.
const restsFor = 30 * time.Second

// rests reports whether alerts stand still now.
func (e *Engine) rests(at time.Time) bool {
	return e.open != nil && at.Sub(e.open.At).Abs() < restsFor
}

func (e *Engine) undo() {
	if e.deps.Planner != nil {
		e.deps.Planner.Undo()
	}
}

// commit keeps a tick, if there is anything in it.
func (e *Engine) commit(ctx context.Context, tick Tick) error {
	if len(tick.Alerts)+len(tick.Edges)+len(tick.Due)+len(tick.Sent) == 0 {
		return nil
	}
	_, err := e.commits.call(ctx, e.patience, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.deps.Journal.CommitTick(ctx, tick)
	})
	return err
}
