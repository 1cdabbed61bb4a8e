package admin

import (
	"context"
	"log/slog"
	"slices"

	"dedup-dashboard/internal/dedup"
)

// A queueFinder finds dead-letter queues by their names, with what is known around them, and says who has one. It is safe for concurrent use.
type queueFinder struct {
	snapshots snapshots
	pipelines map[string]dedup.Pipeline
	ids       map[string]dedup.IDSource
	brokers   map[string]*MovingBroker
	stores    map[string]*PreflightStore
	fragile   *fragileQueues
	// runs tells which runs are jobs of this dashboard.
	runs *knownRuns
	// turns keeps looks and jobs at one queue apart.
	turns *queueTurns
	// journal says which job has a queue.
	journal jobJournal
	refs    dedup.RefKey
	// readOnly refuses every look and every move.
	readOnly bool
	log      *slog.Logger
}

// newQueueFinder returns the one finder of a dashboard: with it looks and jobs share the turns at queues.
func newQueueFinder(deps DeadLettersDeps) *queueFinder {
	f := &queueFinder{
		snapshots: deps.Snapshots, pipelines: map[string]dedup.Pipeline{}, ids: map[string]dedup.IDSource{}, brokers: map[string]*MovingBroker{},
		stores: map[string]*PreflightStore{}, fragile: &fragileQueues{}, runs: &knownRuns{journal: deps.Journal, log: deps.Log, known: map[string]bool{}},
		turns: &queueTurns{turns: map[string]turnstile{}}, journal: deps.Journal, refs: deps.RefKey, readOnly: deps.ReadOnly, log: deps.Log,
	}
	for _, p := range deps.Pipelines {
		f.pipelines[p.Name] = p
		// A source that cannot be parsed finds no id and says so; the configuration admits none.
		f.ids[p.Name], _ = dedup.ParseIDSource(p.IDFrom)
	}
	for i := range deps.Brokers {
		f.brokers[deps.Brokers[i].Name] = &deps.Brokers[i]
	}
	for i := range deps.Stores {
		f.stores[deps.Stores[i].Name] = &deps.Stores[i]
	}
	return f
}

// WhyNot returns why dead letters of a pipeline can neither be looked at nor moved, in words for a page, and "" when they can.
func (f *queueFinder) WhyNot(pipeline string) string {
	p, ok := f.pipelines[pipeline]
	if !ok {
		return "there is no pipeline " + printable(pipeline, 64)
	}
	b := f.brokers[p.Broker]
	switch {
	case f.readOnly:
		return "the dashboard is read-only (server.read_only)"
	case b == nil:
		return "there is no broker " + printable(p.Broker, 64)
	case b.Mover == nil:
		return "broker " + p.Broker + " has no act credentials in the configuration"
	}
	return ""
}

// line finds a queue of a pipeline by its name.
func (f *queueFinder) line(pipeline, queue string) (line, error) {
	p, ok := f.pipelines[pipeline]
	if !ok {
		return line{}, notFound("There is no pipeline " + printable(pipeline, 64))
	}
	l := line{pipeline: p, ids: f.ids[pipeline], broker: f.brokers[p.Broker], store: f.stores[p.Store], fragile: f.fragile, ours: f.runs.ours, refs: f.refs}
	if l.broker == nil {
		return line{}, notFound("There is no broker " + printable(p.Broker, 64))
	}
	snap := f.snapshots.Snapshot()
	if snap == nil {
		return line{}, &dedup.Error{Kind: dedup.Unavailable, Public: "No round of observation has ended yet; try again in a moment"}
	}
	if l.status, ok = snap.Pipeline(pipeline); !ok {
		return line{}, &dedup.Error{Kind: dedup.Unavailable, Public: "The pipeline has not been observed yet; try again in a moment"}
	}
	for _, b := range snap.Brokers {
		if b.Name == p.Broker {
			l.info, l.nodes = b.Info, b.State.Nodes
		}
	}
	l.at, l.queue = snap.At, dedup.QueueRef{Vhost: p.Vhost, Name: queue}
	dead := l.queue
	if from, parked := dedup.ParkedFrom(l.queue); parked {
		dead, l.parked = from, true
	}
	for _, q := range l.status.DeadLetterQueues {
		if q.QueueRef == dead {
			l.homes = homesOf(snap, p.Broker, dead)
			l.dead, l.sole = q, len(p.Queues) == 1 && pipelinesOver(snap, p.Broker, dead) == 1
			return l, nil
		}
	}
	return line{}, notFound("Pipeline " + pipeline + " has no dead-letter queue " + printable(dead.Name, 255))
}

// acting returns the mover of a line, or why nothing can be done.
func (f *queueFinder) acting(l line) error {
	if why := f.WhyNot(l.pipeline.Name); why != "" {
		return &dedup.Error{Kind: dedup.Forbidden, Public: "Dead letters of this pipeline cannot be touched: " + why}
	}
	return nil
}

// moving finds the queue that a move takes messages from, and refuses where nothing can be moved.
func (f *queueFinder) moving(req MoveRequest) (line, error) {
	l, err := f.line(req.Pipeline, req.Queue)
	switch {
	case err != nil:
		return line{}, err
	case l.parked:
		return line{}, invalid("Name the dead-letter queue; what is restored comes from its parking queue")
	}
	if err := f.acting(l); err != nil {
		return line{}, err
	}
	if l, err = l.sendingTo(req.Target, req.Do); err != nil {
		return line{}, err
	}
	if req.Do == RestoreLetters {
		return l.parking()
	}
	return l, nil
}

// fresh returns a line with the newest figures.
func (f *queueFinder) fresh(l line) line {
	name := l.queue.Name
	if newer, err := f.line(l.pipeline.Name, name); err == nil {
		return newer
	}
	return l
}

// source reads the queue of a line when no look has its messages: those that a look holds are not counted as ready.
func (f *queueFinder) source(ctx context.Context, l line) (dedup.Queue, error) {
	if f.holder(ctx, l) == "" {
		wait, cancel := context.WithTimeout(ctx, lookWait)
		defer cancel()
		leave, err := f.turns.enter(wait, l.pipeline.Broker, l.queue)
		if err != nil {
			return dedup.Queue{}, err
		}
		defer leave()
	}
	return l.source(ctx)
}

// holder returns the job that has a queue and has not ended; empty when none has, or the journal does not say.
func (f *queueFinder) holder(ctx context.Context, l line) string {
	job, err := f.journal.HolderOf(ctx, l.pipeline.Broker, l.queue)
	if err != nil {
		f.log.Error("whether a job has a queue cannot be read", "queue", l.queue.Name, "err", err)
	}
	return job
}

// gone reports whether the broker itself says that the queue of a plan does not exist.
func (f *queueFinder) gone(ctx context.Context, p MovePlan) bool {
	_, err := line{broker: f.brokers[p.Broker]}.live(ctx, p.Source)
	return dedup.KindOf(err) == dedup.NotFound
}

// rulesOf says whose rules a letter follows that goes to a queue of another pipeline, with another store, lock or other ids; empty where the
// rules of this line hold.
func (f *queueFinder) rulesOf(l line, target string) string {
	if slices.Contains(l.pipeline.Queues, target) {
		return ""
	}
	other, known := f.pipelines[l.homes[target]]
	if !known || other.Store == l.pipeline.Store && other.Lock == l.pipeline.Lock && other.IDFrom == l.pipeline.IDFrom {
		return ""
	}
	return other.Name
}

// rateNow returns the duplicate rate of a pipeline over its judged window; nil when unknown.
func (f *queueFinder) rateNow(pipeline string) *float64 {
	snap := f.snapshots.Snapshot()
	if snap == nil {
		return nil
	}
	status, ok := snap.Pipeline(pipeline)
	if !ok {
		return nil
	}
	for _, w := range status.Windows {
		if w.Window == status.Pipeline.Limits.Window && w.DuplicateRate.Known() {
			return &w.DuplicateRate.Value
		}
	}
	return nil
}
