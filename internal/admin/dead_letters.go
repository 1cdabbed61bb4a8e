package admin

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/mask"
)

// A queueReader reads one queue live with the watching credentials. A queue that is not there is an error of kind not found.
type queueReader interface {
	Queue(ctx context.Context, ref dedup.QueueRef) (dedup.Queue, error)
}

// A LetterMover takes messages out of queues with the acting credentials. Its errors are *dedup.Error where they can be shown.
type LetterMover interface {
	requeue.Ends
	// Peek takes messages from the head of a queue, at most limit and maxBytes of bodies, and puts them back.
	Peek(ctx context.Context, queue dedup.QueueRef, limit int, maxBytes int64) (dedup.Peek, error)
	// Ready returns how many messages of a queue are ready at this moment; what the watching account reads is some seconds late.
	Ready(ctx context.Context, queue dedup.QueueRef) (int64, error)
	// DeclareParking declares the parking queue of a dead-letter queue and returns it with its effective policy. It fails where the
	// queue could drop a message.
	DeclareParking(ctx context.Context, deadLetters dedup.QueueRef) (dedup.Queue, error)
}

// A MovingBroker is one broker as the acting side sees it.
type MovingBroker struct {
	Name  string
	Watch queueReader
	// Mover is nil without acting credentials: then nothing is looked at and nothing moved.
	Mover LetterMover
}

// A requeueRun moves messages: requeue.Run.
type requeueRun func(context.Context, requeue.Ends, requeue.Config, requeue.Decider, func(context.Context, []requeue.Settled) error) (requeue.Result, error)

// A DeadLettersConfig is the section `admin` of the configuration.
type DeadLettersConfig struct {
	// OperatorLimit is the most messages that an operator may requeue with one job: 100 unless configured.
	OperatorLimit int `yaml:"operator_limit"`
	// Mask are the words that hide the values of JSON members and headers whose names hold them; MaskWords unless configured. MaskAdd are
	// more of them, MaskRemove those that do not count.
	Mask       []string `yaml:"mask"`
	MaskAdd    []string `yaml:"mask_add"`
	MaskRemove []string `yaml:"mask_remove"`
}

// DefaultOperatorLimit is the most messages that an operator may requeue with one job unless another limit is configured.
const DefaultOperatorLimit = 100

// Validate says what is wrong with the section.
func (c DeadLettersConfig) Validate() error {
	if c.OperatorLimit < 0 || c.OperatorLimit > MaxScan {
		return fmt.Errorf("operator_limit is %d; write the most messages that an operator may requeue at once, up to %d", c.OperatorLimit, MaxScan)
	}
	return c.checkMask()
}

// DeadLettersDeps is what DeadLetters works with.
type DeadLettersDeps struct {
	Gate *Gate
	// Journal keeps plans, jobs, and what became of their messages. It never holds a body.
	Journal   JobJournal
	Snapshots snapshots
	Pipelines []dedup.Pipeline
	Brokers   []MovingBroker
	// Preflight predicts what a requeue would do; Stores are those that markers are looked up in afterwards.
	Preflight preflighter
	Stores    []PreflightStore
	// Clear clears markers before their messages are sent; nil where none can be.
	Clear  letterClearer
	Config DeadLettersConfig
	// RefKey makes the references of messages, and the hashes of bodies that the audit holds: operators read both, and with plain ones could
	// try guesses at what is hidden from them.
	RefKey dedup.RefKey
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

// DeadLetters are the services behind the pages of dead letters. Looking and moving pass the gate. Operators may look, and requeue up to a
// limit; admins may do the rest. Every error is a *dedup.Error.
//
// The order of a job: the plan is claimed and the queue with it, the intent audited, and then for each message its class found,
// its marker cleared where the plan says so, the message published, confirmed and only then acked. The journal holds how far it
// came, for people: what is left to do is what is left in the queue.
type DeadLetters struct {
	Scans   *Scans
	Planner *Planner
	Moves   *Moves

	recovery *jobRecovery
	jobs     *jobSet
	scans    *scanShelf
	// end ends the context of jobs.
	end context.CancelFunc
}

// NewDeadLetters returns DeadLetters. It reads and writes nothing yet: Run goes on with the jobs that an earlier run left unfinished.
func NewDeadLetters(deps DeadLettersDeps) *DeadLetters {
	deps.complete()
	life, end := context.WithCancel(context.Background())
	queues, scans, edits, jobs := newQueueFinder(deps), newScanShelf(), newEditShelf(), newJobSet()
	predictor := &predictor{preflight: deps.Preflight, queues: queues, log: deps.Log}
	mask := letterMasker{mask.New(deps.Config.MaskWords())}
	planner := &Planner{deps: &deps, queues: queues, predictor: predictor, mask: mask, scans: scans, edits: edits}
	outcomes := &outcomeFinder{deps: &deps, life: life, jobs: jobs, queues: queues, predictor: predictor}
	runner := &jobRunner{
		deps: &deps, life: life, jobs: jobs, queues: queues, predictor: predictor, mask: mask, scans: scans, edits: edits, outcomes: outcomes,
	}
	moves := &Moves{deps: &deps, queues: queues, planner: planner, edits: edits, scans: scans, jobs: jobs, runner: runner}
	return &DeadLetters{
		Scans: &Scans{
			gate: deps.Gate, queues: queues, predictor: predictor, mask: mask, shelf: scans, looks: make(turnstile, liveReads), refs: deps.RefKey,
			limit: deps.Config.OperatorLimit, now: deps.Now,
		},
		Planner: planner, Moves: moves,
		recovery: &jobRecovery{deps: &deps, queues: queues, jobs: jobs, moves: moves, outcomes: outcomes},
		jobs:     jobs, scans: scans, end: end,
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
		d.Config.OperatorLimit = DefaultOperatorLimit
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
	d.jobs.close()
	d.end()
	d.scans.clear()
	return d.jobs.wait(ctx)
}
