package admin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/auth"
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

// DeadLetters looks at dead letters, plans what becomes of them, and moves them. Looking and moving pass the gate. It is safe
// for concurrent use. Operators may look, and requeue up to a limit; admins may do the rest. Every error is a *dedup.Error.
//
// The order of a job: the plan is claimed and the queue with it, the intent audited, and then for each message its class found,
// its marker cleared where the plan says so, the message published, confirmed and only then acked. The journal holds how far it
// came, for people: what is left to do is what is left in the queue.
type DeadLetters struct {
	deps      DeadLettersDeps
	pipelines map[string]dedup.Pipeline
	ids       map[string]dedup.IDSource
	brokers   map[string]*MovingBroker
	stores    map[string]*PreflightStore
	mask      *mask.Masker
	scans     *scanShelf
	edits     *editShelf
	fragile   *fragileQueues
	plans     jobPlans
	// runs tells which runs are jobs of this dashboard.
	runs *knownRuns
	// looks bounds the looks that are under way at once.
	looks turnstile
	// queues keeps looks and jobs at one queue apart.
	queues queueTurns

	// life is the context of jobs, which outlive the request that began them; end ends it.
	life   context.Context
	end    context.CancelFunc
	mu     sync.Mutex
	closed bool                // under mu
	live   map[string]*liveJob // under mu
	// owed are jobs that have ended and whose end is not written, under mu.
	owed    map[string]*liveJob
	running sync.WaitGroup
	// untidy wakes Run when the end of a job could not be kept.
	untidy chan struct{}
}

// NewDeadLetters returns DeadLetters. It reads and writes nothing yet: Run goes on with the jobs that an earlier run left unfinished.
func NewDeadLetters(deps DeadLettersDeps) *DeadLetters {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Changed == nil {
		deps.Changed = func(string) {}
	}
	if deps.Run == nil {
		deps.Run = requeue.Run
	}
	if deps.Watch == 0 {
		deps.Watch = 30 * time.Second
	}
	if deps.Config.OperatorLimit == 0 {
		deps.Config.OperatorLimit = DefaultOperatorLimit
	}
	d := &DeadLetters{
		deps: deps, pipelines: map[string]dedup.Pipeline{}, ids: map[string]dedup.IDSource{}, brokers: map[string]*MovingBroker{},
		stores: map[string]*PreflightStore{}, mask: mask.New(deps.Config.maskWords()), scans: newScanShelf(), edits: newEditShelf(), fragile: &fragileQueues{},
		runs:  &knownRuns{journal: deps.Journal, log: deps.Log, known: map[string]bool{}},
		looks: make(turnstile, liveReads), queues: queueTurns{turns: map[string]turnstile{}}, live: map[string]*liveJob{}, owed: map[string]*liveJob{}, untidy: make(chan struct{}, 1),
	}
	d.life, d.end = context.WithCancel(context.Background())
	for _, p := range deps.Pipelines {
		d.pipelines[p.Name] = p
		// A source that cannot be parsed finds no id and says so; the configuration admits none.
		d.ids[p.Name], _ = dedup.ParseIDSource(p.IDFrom)
	}
	for i := range deps.Brokers {
		d.brokers[deps.Brokers[i].Name] = &d.deps.Brokers[i]
	}
	for i := range deps.Stores {
		d.stores[deps.Stores[i].Name] = &d.deps.Stores[i]
	}
	return d
}

// WhyNot returns why dead letters of a pipeline can neither be looked at nor moved, in words for a page, and "" when they can.
func (d *DeadLetters) WhyNot(pipeline string) string {
	p, ok := d.pipelines[pipeline]
	if !ok {
		return "there is no pipeline " + printable(pipeline, 64)
	}
	b := d.brokers[p.Broker]
	switch {
	case d.deps.ReadOnly:
		return "the dashboard is read-only (server.read_only)"
	case b == nil:
		return "there is no broker " + printable(p.Broker, 64)
	case b.Mover == nil:
		return "broker " + p.Broker + " has no act credentials in the configuration"
	}
	return ""
}

// allow refuses and records whoever lacks the role.
func (d *DeadLetters) allow(ctx context.Context, who Caller, needs auth.Role, name, target string) error {
	return d.deps.Gate.allow(ctx, who, action{name: name, target: printable(target, maxTarget), needs: needs})
}

// acting returns the mover of a line, or why nothing can be done.
func (d *DeadLetters) acting(l line) error {
	if why := d.WhyNot(l.pipeline.Name); why != "" {
		return &dedup.Error{Kind: dedup.Forbidden, Public: "Dead letters of this pipeline cannot be touched: " + why}
	}
	return nil
}

// CloseWithin is how long Close is to be given: what the engine waits for answers to what it has sent, and time to close its connections
// and to write down how far each job came. Cut short, the answers are lost, and a copy may be made of each such message.
const CloseWithin = requeue.DefaultDrain + 10*time.Second

// Close lets jobs end in good order, within the bound of ctx: what is in hand is settled, and a job that is not at its end goes
// on when the program starts again. It may be called once.
func (d *DeadLetters) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.end()
	d.scans.clear()
	done := make(chan struct{})
	go func() { d.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for messages that are being moved: %w", ctx.Err())
	}
}

// keyed returns the hash of a body as the audit holds it.
func (d *DeadLetters) keyed(hash string) string {
	mac := hmac.New(sha256.New, d.deps.RefKey)
	mac.Write([]byte(hash))
	return hex.EncodeToString(mac.Sum(nil))
}

func conflict(format string, args ...any) error {
	return &dedup.Error{Kind: dedup.Conflict, Public: fmt.Sprintf(format, args...)}
}

func notFound(text string) error { return &dedup.Error{Kind: dedup.NotFound, Public: text} }
