package records

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Baselines keeps the dead letters that were acknowledged, by pipeline. Both methods are quick and honour ctx.
type Baselines interface {
	Baselines(ctx context.Context) (map[string]dedup.Baseline, error)
	// LowerBaseline lowers what the baseline that was made at the same time counts; a newer one stays as it is.
	LowerBaseline(ctx context.Context, pipeline string, to dedup.Baseline) error
}

// Acknowledged are the dead letters that people have acknowledged, as of the newest reading. They belong to the round.
type Acknowledged struct {
	keeper     Baselines // nil where nobody can acknowledge any
	beside     *sync.WaitGroup
	log        *slog.Logger
	background background[baselinesRead]
	lines      map[string]dedup.Baseline
	// lowered are the lines that have fallen and are not kept so yet.
	lowered map[string]dedup.Baseline
	// grouped are, by pipeline, the baselines whose parts are known, with the queues that were shared in the round before.
	grouped map[string]grouping
	// fell: a line fell since the round began to read.
	fell   bool
	logged bool
}

// NewAcknowledged reads from a keeper and writes to it, beside the rounds.
func NewAcknowledged(keeper Baselines, beside *sync.WaitGroup, log *slog.Logger) *Acknowledged {
	return &Acknowledged{keeper: keeper, beside: beside, log: log, lowered: make(map[string]dedup.Baseline), grouped: make(map[string]grouping)}
}

// A grouping is which dead-letter queues of a pipeline were shared, for the baseline that was made at a time.
type grouping struct {
	made   time.Time
	shared string
}

// Shared are the dead-letter queues of a pipeline whose messages may be of others too.
type Shared struct {
	// Known: somebody could tell.
	Known  bool
	Queues []dedup.QueueRef
}

// baselinesRead is what a writing and reading of baselines gave: what was written, and then all as they are kept, where they
// could be read.
type baselinesRead struct {
	written, lines map[string]dedup.Baseline
	read           bool
	err            error
}

// Read keeps what has fallen and takes the baselines as they are kept then, without waiting on a slow disk. What cannot be
// written is tried again and keeps nobody from reading, and what cannot be read stays as it was.
func (a *Acknowledged) Read(ctx context.Context) {
	if a.keeper == nil {
		return
	}
	lowered := maps.Clone(a.lowered)
	a.fell = false
	a.background.next(ctx, a.beside, func(ctx context.Context) baselinesRead {
		written, writing := a.write(ctx, lowered)
		lines, reading := a.keeper.Baselines(ctx)
		return baselinesRead{written: written, lines: lines, read: reading == nil, err: errors.Join(writing, reading)}
	}, a.take)
	if a.background.stuck() {
		a.log.Error("acknowledged dead letters are not read any more: the database on this machine does not answer")
	}
}

// write keeps lines that have fallen, and returns those that it could keep. It leaves half of the time to a reading after it.
func (a *Acknowledged) write(ctx context.Context, lowered map[string]dedup.Baseline) (map[string]dedup.Baseline, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout/2)
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

// Last keeps what has fallen and is not kept yet, after the last round.
func (a *Acknowledged) Last(ctx context.Context) {
	if a.keeper == nil || len(a.lowered) == 0 {
		return
	}
	ctx, lowered := context.WithoutCancel(ctx), a.lowered
	a.beside.Go(func() {
		if _, err := a.write(ctx, lowered); err != nil {
			a.log.Warn("acknowledged dead letters that fell last cannot be kept", "err", err)
		}
	})
}

// take makes what was read the lines of the round. A line that has fallen meanwhile stays where it fell to.
func (a *Acknowledged) take(r baselinesRead) {
	if r.err != nil && !a.logged {
		a.log.Warn("acknowledged dead letters cannot be read or written", "err", r.err)
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

// Fell reports whether a line fell since the round read them: that must outlive a restart before the next round.
func (a *Acknowledged) Fell() bool { return a.fell }

// Of returns the baseline of a pipeline, nil when there is none. It falls with the depth, so that a later rise counts; readings
// from before it was made say nothing of it.
func (a *Acknowledged) Of(pipeline string, depth dedup.Figure, shared Shared) *dedup.Baseline {
	line, ok := a.lines[pipeline]
	if !ok {
		return nil
	}
	if !depth.Known() || !depth.At.After(line.At) {
		return &line
	}
	low := line
	if shared.Known && line.Split && a.regrouped(pipeline, shared, line.At) { // its parts are those of other queues now
		low.Own, low.Split = 0, false
	}
	if shared.Known {
		low = low.Lowered(int64(depth.Low), int64(depth.Width()))
	} else {
		low = low.LoweredInAll(int64(depth.High))
	}
	if low != line {
		line = low
		a.lines[pipeline] = line
		a.lowered[pipeline], a.fell = line, true
	}
	return &line
}

// regrouped reports whether a dead-letter queue of the pipeline became shared, or ceased to be, since a round before that had the baseline.
func (a *Acknowledged) regrouped(pipeline string, shared Shared, made time.Time) bool {
	var names []string
	for _, ref := range shared.Queues {
		names = append(names, ref.Vhost+"\x00"+ref.Name)
	}
	slices.Sort(names)
	now, was := grouping{made, strings.Join(names, "\x00")}, a.grouped[pipeline]
	a.grouped[pipeline] = now
	return was.made.Equal(made) && was.shared != now.shared
}
