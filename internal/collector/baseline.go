package collector

import (
	"context"
	"log/slog"
	"time"

	"dedup-dashboard/internal/dedup"
)

// acknowledged are the dead letters that people have acknowledged, as of the round.
type acknowledged struct {
	keeper Baselines
	lines  map[string]dedup.Baseline
	logged bool
}

// baselinePatience bounds a reading or writing of baselines, which are kept on this machine.
const baselinePatience = time.Second

// read takes the baselines as they are kept now. What cannot be read stays as it was.
func (a *acknowledged) read(ctx context.Context, log *slog.Logger) {
	if a.keeper == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, baselinePatience)
	defer cancel()
	lines, err := a.keeper.Baselines(ctx)
	a.note(log, err)
	if err == nil {
		a.lines = lines
	}
}

// note logs a failure when it begins.
func (a *acknowledged) note(log *slog.Logger, err error) {
	if err != nil && !a.logged {
		log.Warn("acknowledged dead letters cannot be read or written", "err", err)
	}
	a.logged = err != nil
}

// of returns the baseline of a pipeline, nil when there is none. It falls with the depth, so that a later rise counts; readings
// from before it was made say nothing of it.
func (a *acknowledged) of(ctx context.Context, p *pipeline, depth dedup.Figure, log *slog.Logger) *dedup.Baseline {
	line, ok := a.lines[p.Name]
	if !ok {
		return nil
	}
	if depth.Known() && depth.At.After(line.At) && int64(depth.Value) < line.Count {
		line.Count = int64(depth.Value)
		a.lines[p.Name] = line
		ctx, cancel := context.WithTimeout(ctx, baselinePatience)
		defer cancel()
		a.note(log, a.keeper.LowerBaseline(ctx, p.Name, line.At, line.Count))
	}
	return &line
}

// deadLettersWait finds dead letters beyond those that were acknowledged.
func (p *pipeline) deadLettersWait(st *dedup.PipelineStatus, now time.Time) []dedup.Finding {
	if !st.DeadLetters.Known() {
		return nil
	}
	return waitingDeadLetters(int64(st.DeadLetters.Value), st.Baseline, p.heldIn(st), p.oldestDeadLetter(now), now)
}

// heldIn are the dead-letter queues that hold messages.
func (p *pipeline) heldIn(st *dedup.PipelineStatus) []dedup.QueueRef {
	var refs []dedup.QueueRef
	for _, q := range st.DeadLetterQueues {
		if q.Depth.Known() && q.Depth.Value > 0 {
			refs = append(refs, q.QueueRef)
		}
	}
	return refs
}
