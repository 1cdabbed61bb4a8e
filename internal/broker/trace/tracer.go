package trace

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/dedup"
)

// Options are what a Tracer needs beside the configuration of its broker.
type Options struct {
	// DataDir is the folder in which it writes down what it switches on before it does.
	DataDir string
	// Guard is the command that runs RunGuard: this program itself.
	Guard []string
	Log   *slog.Logger
}

// A Tracer traces deliveries of one broker, one trace at a time. Its methods may be called at the same time.
type Tracer struct {
	config  broker.Config
	account broker.Measure
	options Options
	log     *slog.Logger
	// mover and nodes use the account that traces; mover is nil, and nodes are empty, where there may be none.
	mover *amqp.Mover
	nodes nodes
	watch *broker.Client
	// shortest is the shortest time of a trace.
	shortest time.Duration
	// guarded, which may be nil, is told of each guard.
	guarded func(*child)

	// life ends with Close.
	life context.Context
	end  context.CancelFunc
	// busy is how many have the turn: a trace, and what goes on to end it. Owed are those of the second kind.
	busy, owed atomic.Int32

	mu sync.Mutex
	// tracing says until when a vhost may be traced for us; zero while it is. Under mu.
	tracing map[string]time.Time
}

// OpenTracer returns the tracer of the configured broker. It connects to nothing. Where measurements are off, or no account is configured, it
// holds no credentials: Ready then says so, and Trace refuses.
func OpenTracer(config broker.Config, options Options) (*Tracer, error) {
	t := &Tracer{config: config, options: options, log: cmp.Or(options.Log, slog.New(slog.DiscardHandler)), shortest: dedup.MinTrace, tracing: map[string]time.Time{}}
	t.life, t.end = context.WithCancel(context.Background())
	account, ok := config.Tracing()
	if !ok {
		return t, nil
	}
	t.account = account
	own := config
	own.Act = account.Act
	var err error
	if t.mover, err = amqp.OpenMover(own, options.Log); err != nil {
		return nil, err
	}
	if t.nodes, err = openNodes(config, account); err != nil {
		return nil, err
	}
	t.watch, err = broker.New(config)
	return t, err
}

// Ready says whether queues of a vhost could be traced now. It binds a queue of its own for a moment to see whether it may.
func (t *Tracer) Ready(ctx context.Context, vhost string, queues []string) dedup.TraceReadiness {
	f := t.look(ctx, vhost, queues)
	if !f.OK() {
		return f.TraceReadiness
	}
	if t.busy.Load() > 0 {
		t.taken(&f)
		return f.TraceReadiness
	}
	if p := t.tapInto(ctx, &f, queues, false); p != nil {
		if p.readsAll() {
			t.advise(&f, queues)
		}
		p.close()
	}
	return f.TraceReadiness
}

func (t *Tracer) taken(f *found) {
	if t.owed.Load() > 0 {
		f.problem(dedup.TraceTaken, "wait until the broker answers", "tracing that an earlier measurement switched on is not seen off yet; it is tried on")
		return
	}
	f.problem(dedup.TraceTaken, "wait until it has ended", "another trace of this broker is under way")
}

// Trace traces until the time is up, ctx ends, or it would harm: then the trace says why it stopped. An error means that there is no trace; it
// is a *dedup.Error, of kind Conflict where Ready would have said why not. When it returns tracing is off, unless it was on before; where the
// broker cannot be reached to switch it off, Stopped says so, and it is tried on.
func (t *Tracer) Trace(ctx context.Context, request dedup.TraceRequest) (dedup.Trace, error) {
	var f found
	if !t.allowed(&f) || !t.valid(&f, request) {
		return dedup.Trace{}, f.refusal()
	}
	if !t.busy.CompareAndSwap(0, 1) {
		t.taken(&f)
		return dedup.Trace{}, f.refusal()
	}
	defer t.leave()
	vhost := request.Queues[0].Vhost
	t.mark(vhost, time.Time{})
	defer func() { t.mark(vhost, time.Now().Add(forgetAfter)) }()

	s := &session{t: t, request: request, vhost: vhost, parser: newParser(request.Queues), stopped: make(chan string, 1)}
	var names []string
	bodies := false
	for _, q := range request.Queues {
		names, s.queues = append(names, q.Name), append(s.queues, q.QueueRef)
		bodies = bodies || q.ID.NeedsBody()
	}
	if s.found = t.look(ctx, vhost, names); s.OK() {
		s.tap = t.tapInto(ctx, &s.found, names, bodies)
	}
	if !s.OK() {
		return dedup.Trace{}, s.refusal()
	}
	defer s.tap.close()
	var err error
	if s.counts, err = t.newCounter(s.queues); err != nil {
		return dedup.Trace{}, public(err)
	}
	return s.run(ctx)
}

// valid checks what was asked for.
func (t *Tracer) valid(f *found, request dedup.TraceRequest) bool {
	for _, q := range request.Queues {
		if q.Vhost != request.Queues[0].Vhost {
			f.problem(dedup.TraceBadRequest, "", "the queues are of several vhosts")
			break
		}
	}
	if len(request.Queues) == 0 {
		f.problem(dedup.TraceBadRequest, "", "no queue was named")
	}
	if request.For < t.shortest || request.For > dedup.MaxTrace {
		f.problem(dedup.TraceBadRequest, "", "a trace takes %s to %s", t.shortest, dedup.MaxTrace)
	}
	return f.OK()
}

// newCounter counts by what the broker has.
func (t *Tracer) newCounter(queues []dedup.QueueRef) (counter, error) {
	c, err := t.newLiveCounter(queues)
	if c != nil || err != nil {
		return c, err
	}
	return &statCounter{watch: t.watch, queues: queues, now: time.Now}, nil
}

// keepTurn lets no trace begin until returnTurn, while an earlier one is switched off.
func (t *Tracer) keepTurn() {
	t.owed.Add(1)
	t.busy.Add(1)
}

func (t *Tracer) returnTurn() {
	t.owed.Add(-1)
	t.leave()
}

func (t *Tracer) leave() { t.busy.Add(-1) }

// forgetAfter is for how long after a trace whoever reads the broker's state of some seconds ago may still find it traced.
const forgetAfter = 30 * time.Second

func (t *Tracer) mark(vhost string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tracing[vhost] = until
}

// Tracing reports whether a vhost is traced for us now, or has just been.
func (t *Tracer) Tracing(vhost string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	until, ok := t.tracing[vhost]
	return ok && (until.IsZero() || time.Now().Before(until))
}

// Clear switches off what a trace of an earlier process left on, and tells of it; false where there was none. It is called at the start, and tries
// on until ctx ends. No trace begins meanwhile.
func (t *Tracer) Clear(ctx context.Context) (dedup.ClearedTrace, bool, error) {
	path := t.intentPath()
	i, ok, err := readIntent(path)
	if err != nil || !ok {
		return dedup.ClearedTrace{}, false, err
	}
	t.keepTurn()
	defer t.returnTurn()
	cleared := dedup.ClearedTrace{Broker: t.config.Name, Vhost: i.Vhost, Began: i.Began, Off: i.Off}
	if i.Off.IsZero() {
		if cleared.Err = t.clear(ctx, i, &cleared.Off); cleared.Err != "" {
			return cleared, true, nil
		}
	}
	return cleared, true, removeIntent(path)
}

// clear returns why it could not be cleared, and what a person can do.
func (t *Tracer) clear(ctx context.Context, i intent, off *time.Time) string {
	if t.mover == nil {
		return fmt.Sprintf("there is no account for it any more; see whether tracing is on, and run: %s", broker.CtlLine("trace_off", "-p", i.Vhost))
	}
	account := t.account
	account.ManagementURLs = i.Nodes
	all, err := openNodes(t.config, account)
	if err != nil {
		return err.Error()
	}
	defer all.close()
	var again []time.Duration
	if i.Off.IsZero() { // no guard saw it off: what was sent just before the crash may switch on yet
		again = looks()
	}
	if err := all.off(ctx, i.Vhost); err != nil && ctx.Err() == nil {
		t.log.Warn("tracing that a crash left on is not off yet; it is tried on", "broker", t.config.Name, "vhost", i.Vhost, "began", i.Began, "err", err)
	}
	if err := all.offForGood(ctx, i.Vhost, again, func() { *off = time.Now() }); err != nil {
		return err.Error()
	}
	return ""
}

// Close releases what the tracer holds. A trace that is under way ends with the context of whoever began it.
func (t *Tracer) Close() error {
	t.end()
	t.nodes.close()
	if t.watch != nil {
		t.watch.Close()
	}
	if t.mover != nil {
		return t.mover.Close()
	}
	return nil
}
