package collector

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

// acknowledged are the dead letters that people have acknowledged, as of the newest reading.
type acknowledged struct {
	keeper Baselines
	aside  aside[baselinesRead]
	lines  map[string]dedup.Baseline
	// lowered are the lines that have fallen and are not kept so yet.
	lowered map[string]dedup.Baseline
	// grouped are, by pipeline, the baselines whose parts are known, with the queues that were shared in the round before.
	grouped map[string]grouping
	// fell: a line fell since the round began to read.
	fell   bool
	logged bool
}

// A grouping is which dead-letter queues of a pipeline were shared, for the baseline that was made at a time.
type grouping struct {
	made   time.Time
	shared string
}

// baselinesRead is what a writing and reading of baselines gave: what was written, and then all as they are kept, where they
// could be read.
type baselinesRead struct {
	written, lines map[string]dedup.Baseline
	read           bool
	err            error
}

// read keeps what has fallen and takes the baselines as they are kept then, without waiting on a slow disk. What cannot be
// written is tried again and keeps nobody from reading, and what cannot be read stays as it was.
func (a *acknowledged) read(ctx context.Context, beside *sync.WaitGroup, log *slog.Logger) {
	if a.keeper == nil {
		return
	}
	lowered := maps.Clone(a.lowered)
	a.fell = false
	a.aside.next(ctx, beside, func(ctx context.Context) baselinesRead {
		written, writing := a.write(ctx, lowered)
		lines, reading := a.keeper.Baselines(ctx)
		return baselinesRead{written: written, lines: lines, read: reading == nil, err: errors.Join(writing, reading)}
	}, func(r baselinesRead) { a.take(r, log) })
	if a.aside.stuck() {
		log.Error("acknowledged dead letters are not read any more: the database on this machine does not answer")
	}
}

// write keeps lines that have fallen, and returns those that it could keep. It leaves half of the time to a reading after it.
func (a *acknowledged) write(ctx context.Context, lowered map[string]dedup.Baseline) (map[string]dedup.Baseline, error) {
	ctx, cancel := context.WithTimeout(ctx, asideTimeout/2)
	defer cancel()
	written := make(map[string]dedup.Baseline)
	for pipeline, line := range lowered {
		if err := a.keeper.LowerBaseline(ctx, pipeline, line); err != nil {
			return written, err
		}
		written[pipeline] = line
	}
	return written, nil
}

// last keeps what has fallen and is not kept yet, after the last round.
func (a *acknowledged) last(ctx context.Context, beside *sync.WaitGroup, log *slog.Logger) {
	if a.keeper == nil || len(a.lowered) == 0 {
		return
	}
	ctx, lowered := context.WithoutCancel(ctx), a.lowered
	beside.Go(func() {
		if _, err := a.write(ctx, lowered); err != nil {
			log.Warn("acknowledged dead letters that fell last cannot be kept", "err", err)
		}
	})
}

// take makes what was read the lines of the round. A line that has fallen meanwhile stays where it fell to.
func (a *acknowledged) take(r baselinesRead, log *slog.Logger) {
	if r.err != nil && !a.logged {
		log.Warn("acknowledged dead letters cannot be read or written", "err", r.err)
	}
	a.logged = r.err != nil
	for pipeline, line := range r.written {
		if a.lowered[pipeline] == line {
			delete(a.lowered, pipeline)
		}
	}
	if !r.read {
		return
	}
	a.lines = r.lines
	for pipeline, low := range a.lowered {
		line, ok := a.lines[pipeline]
		if !ok || !line.At.Equal(low.At) {
			delete(a.lowered, pipeline) // it was forgotten, or made anew
			continue
		}
		line.Count, line.Own, line.Split = min(line.Count, low.Count), min(line.Own, low.Own), line.Split && low.Split
		a.lines[pipeline] = line
	}
}

// of returns the baseline of a pipeline, nil when there is none. It falls with the depth, so that a later rise counts; readings
// from before it was made say nothing of it.
func (a *acknowledged) of(p *pipeline, depth dedup.Figure) *dedup.Baseline {
	line, ok := a.lines[p.Name]
	if !ok {
		return nil
	}
	if !depth.Known() || !depth.At.After(line.At) {
		return &line
	}
	low, known := line, p.sharingKnown()
	if known && line.Split && a.regrouped(p, line.At) { // its parts are those of other queues now
		low.Own, low.Split = 0, false
	}
	if known {
		low = low.Lowered(int64(depth.Low), int64(depth.Width()))
	} else {
		low = low.LoweredInAll(int64(depth.High))
	}
	if low != line {
		line = low
		a.lines[p.Name] = line
		if a.lowered == nil {
			a.lowered = make(map[string]dedup.Baseline)
		}
		a.lowered[p.Name], a.fell = line, true
	}
	return &line
}

// regrouped reports whether a dead-letter queue of the pipeline became shared, or ceased to be, since a round before that had the baseline.
func (a *acknowledged) regrouped(p *pipeline, made time.Time) bool {
	var shared []string
	for _, t := range p.targets {
		if p.sharedWith(t.QueueRef).Any() {
			shared = append(shared, t.Vhost+"\x00"+t.Name)
		}
	}
	slices.Sort(shared)
	now, was := grouping{made, strings.Join(shared, "\x00")}, a.grouped[p.Name]
	if a.grouped == nil {
		a.grouped = make(map[string]grouping)
	}
	a.grouped[p.Name] = now
	return was.made.Equal(made) && was.shared != now.shared
}

// deadLettersWait finds dead letters beyond those that were acknowledged. Those in a shared queue may all be another's.
func (p *pipeline) deadLettersWait(st *dedup.PipelineStatus, now time.Time) []dedup.Finding {
	if !st.DeadLetters.Known() {
		return nil
	}
	return finding.WaitingDeadLetters(int64(st.DeadLetters.Low), int64(st.FreshDeadLetters()), st.OwnAcknowledged(), st.Baseline, p.heldIn(st), p.oldestDeadLetter(now), now)
}

// heldIn are the dead-letter queues of the pipeline alone that hold messages.
func (p *pipeline) heldIn(st *dedup.PipelineStatus) []dedup.QueueRef {
	var refs []dedup.QueueRef
	for _, q := range st.DeadLetterQueues {
		if q.Depth.Known() && q.Depth.Value > 0 && !q.Shared.Any() {
			refs = append(refs, q.QueueRef)
		}
	}
	return refs
}
