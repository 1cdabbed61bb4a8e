package deadletter

import (
	"context"
	"log/slog"
	"slices"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// Queues finds dead-letter queues by their names, with what is known around them, and says who has one. It is safe for concurrent use.
type Queues struct {
	deps      QueuesDeps
	Pipelines map[string]dedup.Pipeline
	ids       map[string]message.IDSource
	brokers   map[string]*Broker
	stores    map[string]*preflight.Store
	fragile   *fragileQueues
	// runs tells which runs are jobs of this dashboard.
	runs *knownRuns
	// Turns keeps looks and jobs at one queue apart.
	Turns *queueTurns
}

// QueuesDeps are what queues are found with.
type QueuesDeps struct {
	Snapshots admin.Snapshots
	Pipelines []dedup.Pipeline
	Brokers   []Broker
	// Stores are those that markers are looked up in.
	Stores []preflight.Store
	// Journal says which job has a queue.
	Journal runJournal
	RefKey  message.RefKey
	// ReadOnly refuses every look and every move.
	ReadOnly bool
	Log      *slog.Logger
}

// NewQueues returns the one finder of a dashboard: with it looks and jobs share the turns at queues.
func NewQueues(deps QueuesDeps) *Queues {
	f := &Queues{
		deps: deps, Pipelines: map[string]dedup.Pipeline{}, ids: map[string]message.IDSource{}, brokers: map[string]*Broker{},
		stores: map[string]*preflight.Store{}, fragile: &fragileQueues{}, runs: &knownRuns{journal: deps.Journal, log: deps.Log, known: map[string]bool{}},
		Turns: &queueTurns{turns: map[string]admin.Turnstile{}},
	}
	for _, p := range deps.Pipelines {
		f.Pipelines[p.Name] = p
		// A source that cannot be parsed finds no id and says so; the configuration admits none.
		f.ids[p.Name], _ = message.ParseIDSource(p.IDFrom)
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
func (f *Queues) WhyNot(pipeline string) string {
	p, ok := f.Pipelines[pipeline]
	if !ok {
		return "there is no pipeline " + admin.Printable(pipeline, 64)
	}
	b := f.brokers[p.Broker]
	switch {
	case f.deps.ReadOnly:
		return admin.ReadOnly
	case b == nil:
		return "there is no broker " + admin.Printable(p.Broker, 64)
	case b.Mover == nil:
		return "broker " + p.Broker + " has no act credentials in the configuration"
	}
	return ""
}

// Find finds a queue of a pipeline by its name.
func (f *Queues) Find(pipeline, queue string) (Queue, error) {
	p, ok := f.Pipelines[pipeline]
	if !ok {
		return Queue{}, admin.NotFound("There is no pipeline " + admin.Printable(pipeline, 64))
	}
	l := Queue{Pipeline: p, IDs: f.ids[pipeline], Broker: f.brokers[p.Broker], Store: f.stores[p.Store], Fragile: f.fragile, ours: f.runs.ours, Refs: f.deps.RefKey}
	if l.Broker == nil {
		return Queue{}, admin.NotFound("There is no broker " + admin.Printable(p.Broker, 64))
	}
	snap := f.deps.Snapshots.Snapshot()
	if snap == nil {
		return Queue{}, admin.Unavailable("No round of observation has ended yet; try again in a moment")
	}
	if l.status, ok = snap.Pipeline(pipeline); !ok {
		return Queue{}, admin.Unavailable("The pipeline has not been observed yet; try again in a moment")
	}
	for _, b := range snap.Brokers {
		if b.Name == p.Broker {
			l.Info, l.Nodes = b.Info, b.State.Nodes
		}
	}
	l.at, l.Ref = snap.At, dedup.QueueRef{Vhost: p.Vhost, Name: queue}
	dead := l.Ref
	if from, parked := dedup.ParkedFrom(l.Ref); parked {
		dead, l.Parked = from, true
	}
	for _, q := range l.status.DeadLetterQueues {
		if q.QueueRef == dead {
			l.Homes = homesOf(snap, p.Broker, dead)
			l.Dead, l.sole = q, len(p.Queues) == 1 && pipelinesOver(snap, p.Broker, dead) == 1
			return l, nil
		}
	}
	return Queue{}, admin.NotFound("Pipeline " + pipeline + " has no dead-letter queue " + admin.Printable(dead.Name, 255))
}

// Acting returns the mover of a line, or why nothing can be done.
func (f *Queues) Acting(l Queue) error {
	if why := f.WhyNot(l.Pipeline.Name); why != "" {
		return admin.Forbidden("Dead letters of this pipeline cannot be touched: " + why)
	}
	return nil
}

// Fresh returns a line with the newest figures.
func (f *Queues) Fresh(l Queue) Queue {
	name := l.Ref.Name
	if newer, err := f.Find(l.Pipeline.Name, name); err == nil {
		return newer
	}
	return l
}

// Source reads the queue of a line when no look has its messages: those that a look holds are not counted as ready.
func (f *Queues) Source(ctx context.Context, l Queue) (dedup.Queue, error) {
	if f.Holder(ctx, l) == "" {
		wait, cancel := context.WithTimeout(ctx, lookWait)
		defer cancel()
		leave, err := f.Turns.Enter(wait, l.Pipeline.Broker, l.Ref)
		if err != nil {
			return dedup.Queue{}, err
		}
		defer leave()
	}
	return l.Source(ctx)
}

// Holder returns the job that has a queue and has not ended; empty when none has, or the journal does not say.
func (f *Queues) Holder(ctx context.Context, l Queue) string {
	job, err := f.deps.Journal.HolderOf(ctx, l.Pipeline.Broker, l.Ref)
	if err != nil {
		f.deps.Log.Error("whether a job has a queue cannot be read", "queue", l.Ref.Name, "err", err)
	}
	return job
}

// Gone reports whether the broker itself says that a queue does not exist.
func (f *Queues) Gone(ctx context.Context, broker string, queue dedup.QueueRef) bool {
	_, err := Queue{Broker: f.brokers[broker]}.Live(ctx, queue)
	return dedup.KindOf(err) == dedup.NotFound
}

// rulesOf says whose rules a letter follows that goes to a queue of another pipeline, with another store, lock or other ids; empty where the
// rules of this line hold.
func (f *Queues) rulesOf(l Queue, target string) string {
	if slices.Contains(l.Pipeline.Queues, target) {
		return ""
	}
	other, known := f.Pipelines[l.Homes[target]]
	if !known || other.Store == l.Pipeline.Store && other.Lock == l.Pipeline.Lock && other.IDFrom == l.Pipeline.IDFrom {
		return ""
	}
	return other.Name
}

// RateNow returns the duplicate rate of a pipeline over its judged window; nil when unknown.
func (f *Queues) RateNow(pipeline string) *float64 {
	snap := f.deps.Snapshots.Snapshot()
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
