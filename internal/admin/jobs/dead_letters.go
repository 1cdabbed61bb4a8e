// Package jobs carries plans of moves out as jobs that can be paused, resumed and cancelled, and finds out what became of their messages.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/operation"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/mask"
	"dedup-dashboard/internal/message"
)

// A requeueRun moves messages: requeue.Run.
type requeueRun func(context.Context, requeue.Ends, requeue.Config, requeue.Decider, func(context.Context, []requeue.Settled) error) (requeue.Result, error)

// DeadLettersDeps is what DeadLetters works with.
type DeadLettersDeps struct {
	Gate *admin.Gate
	// Journal keeps plans, jobs, and what became of their messages. It never holds a body.
	Journal   JobJournal
	Snapshots admin.Snapshots
	Pipelines []dedup.Pipeline
	Brokers   []deadletter.Broker
	// Preflight predicts what a requeue would do; Stores are those that markers are looked up in afterwards.
	Preflight deadletter.Preflighter
	Stores    []preflight.Store
	// Clear clears markers before their messages are sent; nil where none can be.
	Clear  letterClearer
	Config deadletter.Config
	// RefKey makes the references of messages, and the hashes of bodies that the audit holds: operators read both, and with plain ones could
	// try guesses at what is hidden from them.
	RefKey message.RefKey
	// ReadOnly refuses every look and every move.
	ReadOnly bool
	// Changed is told "job:ID" when a job moves on, at most four times a second. It must not block; nil tells nobody.
	Changed func(topic string)
	Log     *slog.Logger
	// Now is the clock; time.Now when nil. Watch is the shortest time for which the first messages of a job are watched; 30 s when 0.
	Now   func() time.Time
	Watch time.Duration
	// Run moves messages; requeue.Run when nil.
	Run requeueRun
}

// tools are what everything around jobs works with.
type tools struct {
	deps *DeadLettersDeps
	// life is the context of jobs, which outlive the request that began them; it ends when the program stops.
	life context.Context
	// jobs are those that this process carries out, and those that have ended and whose end is not written.
	jobs *operation.Set[liveJob]
	// queues has the newest figures, predictor what the stores hold, mask what filters see; scans are the looks that are kept, edits what was
	// edited.
	queues    *deadletter.Queues
	predictor *deadletter.Predictor
	mask      deadletter.Masker
	scans     *deadletter.KeptScans
	edits     *move.KeptEdits
}

// DeadLetters are the services behind the pages of dead letters. Looking and moving pass the gate. Operators may look, and requeue up to a
// limit; admins may do the rest. Every error is a *dedup.Error.
//
// The order of a job: the plan is claimed and the queue with it, the intent audited, and then for each message its class found,
// its marker cleared where the plan says so, the message published, confirmed and only then acked. The journal holds how far it
// came, for people: what is left to do is what is left in the queue.
type DeadLetters struct {
	Scans   *deadletter.Scans
	Planner *move.Planner
	Moves   *Moves

	*tools
	recovery *jobRecovery
	// end ends the context of jobs.
	end context.CancelFunc
}

// NewDeadLetters returns DeadLetters. It reads and writes nothing yet: Run goes on with the jobs that an earlier run left unfinished.
func NewDeadLetters(deps DeadLettersDeps) *DeadLetters {
	deps.complete()
	life, end := context.WithCancel(context.Background())
	queues := deadletter.NewQueues(deadletter.QueuesDeps{
		Snapshots: deps.Snapshots, Pipelines: deps.Pipelines, Brokers: deps.Brokers, Stores: deps.Stores, Journal: jobRuns{deps.Journal},
		RefKey: deps.RefKey, ReadOnly: deps.ReadOnly, Log: deps.Log,
	})
	t := &tools{
		deps: &deps, life: life, jobs: operation.NewSet[liveJob]("job"), queues: queues, predictor: deadletter.NewPredictor(deps.Preflight, queues, deps.Log),
		mask: deadletter.Masker{Words: mask.New(deps.Config.MaskWords())}, scans: deadletter.NewKeptScans(), edits: move.NewKeptEdits(),
	}
	planner := move.NewPlanner(move.PlannerDeps{
		Gate: deps.Gate, Journal: deps.Journal, Queues: queues, Predictor: t.predictor, Mask: t.mask, Scans: t.scans, Edits: t.edits, Clear: deps.Clear,
		OperatorLimit: deps.Config.OperatorLimit, RefKey: deps.RefKey, Watch: deps.Watch, Now: deps.Now, Log: deps.Log,
	})
	outcomes := &outcomeFinder{t}
	moves := &Moves{tools: t, planner: planner, reviewed: planner.Plans(), runner: &jobRunner{t, outcomes}}
	return &DeadLetters{
		Scans: deadletter.NewScans(deadletter.ScansDeps{
			Gate: deps.Gate, Queues: queues, Predictor: t.predictor, Mask: t.mask, Kept: t.scans, RefKey: deps.RefKey,
			OperatorLimit: deps.Config.OperatorLimit, Now: deps.Now,
		}),
		Planner: planner, Moves: moves, tools: t, recovery: &jobRecovery{t, moves, outcomes}, end: end,
	}
}

// complete fills in what may be left out.
func (d *DeadLettersDeps) complete() {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Changed == nil {
		d.Changed = func(string) {}
	}
	if d.Run == nil {
		d.Run = requeue.Run
	}
	if d.Watch == 0 {
		d.Watch = 30 * time.Second
	}
	if d.Config.OperatorLimit == 0 {
		d.Config.OperatorLimit = deadletter.DefaultOperatorLimit
	}
}

// Run goes on with the jobs that an earlier run of the program left under way, writes down what could not be written, and purges
// what is old, until ctx ends.
func (d *DeadLetters) Run(ctx context.Context) error { return d.recovery.Run(ctx) }

// CloseWithin is how long Close is to be given: what the engine waits for answers to what it has sent, and time to close its connections
// and to write down how far each job came. Cut short, the answers are lost, and a copy may be made of each such message.
const CloseWithin = requeue.DefaultDrain + 10*time.Second

// Close lets jobs end in good order, within the bound of ctx: what is in hand is settled, and a job that is not at its end goes
// on when the program starts again. It may be called once.
func (d *DeadLetters) Close(ctx context.Context) error {
	d.jobs.Close()
	d.end()
	d.scans.Clear()
	if err := d.jobs.Wait(ctx); err != nil {
		return fmt.Errorf("wait for messages that are being moved: %w", err)
	}
	return nil
}
