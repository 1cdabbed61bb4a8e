package pace

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Rounds keep what is known of a store that is walked over again and again. Their lock guards what the store keeps beside them, too.
type Rounds struct {
	sync.Mutex
	Log *slog.Logger
	// Last is the newest pass; nil before the first one, and after the store became another.
	Last     *dedup.Pass
	Progress dedup.Progress
	// Fault is why the walk stands still, nil while it walks.
	Fault error
	// note is what happened to the store since the last pass.
	note string
}

// A Walk is one pass over a store in the making.
type Walk struct {
	// Run walks from where the walk stands to its end.
	Run func(context.Context) error
	// Ended takes the pass of a walk that came to its end, and returns when it began.
	Ended func(context.Context) time.Time
}

// Walk walks over the store until ctx ends, a pass each so often. A walk that loses its connection goes on where it stood. What begin makes is to
// tell progressed of each step; explain words what ends a walk, and holds the lock.
func (r *Rounds) Walk(ctx context.Context, every time.Duration, begin func(progressed func(dedup.Progress)) Walk, explain func(error) error) {
	var w Walk
	retry, brokenAt := LeastRetry, time.Time{}
	walking := func(p dedup.Progress) {
		retry, brokenAt = LeastRetry, time.Time{}
		r.walking(p)
	}
	for ctx.Err() == nil {
		if w.Run == nil || !brokenAt.IsZero() && time.Since(brokenAt) > staleWalk {
			w, brokenAt = begin(walking), time.Time{}
		}
		err := w.Run(ctx)
		var wait time.Duration
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			wait = max(0, every-time.Since(w.Ended(ctx)))
			w = Walk{}
		case errors.Is(err, ErrChanged):
			r.changed(err)
			w = Walk{}
		case errors.Is(err, ErrMoved):
			r.changed(err)
			w, wait = Walk{}, LeastRetry // more may be on the move
		default:
			r.failed(err, explain)
			if brokenAt.IsZero() {
				brokenAt = time.Now()
			}
			wait, retry = retry, min(2*retry, mostRetry)
		}
		_ = Sleep(ctx, wait)
	}
}

func (r *Rounds) walking(p dedup.Progress) {
	r.Lock()
	defer r.Unlock()
	if r.Fault != nil {
		r.Log.Info("the walk over the store goes on")
		r.Fault = nil
	}
	if r.note != "" {
		p.Waiting = r.note
	}
	r.Progress = p
}

// Completed takes a pass. It needs the lock.
func (r *Rounds) Completed(pass dedup.Pass) {
	r.Last, r.note = &pass, ""
	r.Progress.Waiting = ""
}

// changed lets the pass begin again. Where the store changed it drops what was known: the last pass describes a store that is no more.
func (r *Rounds) changed(err error) {
	r.Lock()
	defer r.Unlock()
	what := strings.TrimPrefix(strings.TrimPrefix(err.Error(), ErrChanged.Error()+": "), ErrMoved.Error()+": ")
	r.Log.Warn("the pass over the store begins again", "because", what)
	if errors.Is(err, ErrChanged) {
		r.Last = nil
	}
	r.note = what + ": the pass began again"
	r.Progress = dedup.Progress{Waiting: r.note}
}

func (r *Rounds) failed(err error, explain func(error) error) {
	r.Lock()
	defer r.Unlock()
	err = explain(err)
	if r.Fault == nil || r.Fault.Error() != err.Error() {
		r.Log.Warn("the walk over the store stopped", "err", err)
	}
	r.Fault = err
	r.Progress.Waiting = dedup.PublicText(err)
}
