package trace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

const (
	// operatorWait is how long to wait for an operator unless it is said.
	operatorWait = 5 * time.Minute
	// grace is for how long after the time of a trace its guard waits before it switches off.
	grace = 30 * time.Second
	// offWithin bounds the switching off at the end; what is not off by then is tried on in the background.
	offWithin = 10 * time.Second
	// vhostGoes is how long the deletion of a vhost may take from the end of our queue on; tracing is off later by as much.
	vhostGoes = 2 * time.Second
)

// A session is one trace under way.
type session struct {
	t       *Tracer
	request dedup.TraceRequest
	found
	vhost  string
	queues []dedup.QueueRef
	tap    *tap
	counts counter
	guard  *child
	// doubtful is true where switching on failed, so that it may happen yet.
	doubtful bool

	// seen and size count the messages of the firehose that were read, and their bytes.
	seen, size atomic.Int64
	stopped    chan string

	mu sync.Mutex
	// parser, deliveries and the moments are under mu. Until began is known, deliveries are kept and not handed on.
	parser       *parser
	deliveries   []dedup.TracedDelivery
	began, ended time.Time
}

// stop ends the trace before its time. The first reason is kept.
func (s *session) stop(format string, args ...any) {
	select {
	case s.stopped <- fmt.Sprintf(format, args...):
	default:
	}
}

func (s *session) guardEnded() <-chan struct{} {
	if s.guard == nil {
		return nil
	}
	return s.guard.ended
}

// collect reads the firehose until its connection ends.
func (s *session) collect(from <-chan amqp091.Delivery) {
	for d := range from {
		at := time.Now()
		m := s.tap.conn.Message(&d)
		s.seen.Add(1)
		s.size.Add(m.BodySize())
		s.keep(&m, at)
		s.tap.took(&d, m.BodySize())
	}
	s.stop("%s", publicText(s.tap.conn.Fail(nil)))
}

func (s *session) keep(m *message.Message, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended.IsZero() {
		return
	}
	d, ok := s.parser.read(m, at)
	if !ok {
		return
	}
	s.deliveries = append(s.deliveries, d)
	if !s.began.IsZero() && s.request.Delivered != nil {
		s.request.Delivered(d)
	}
	if s.parser.full(len(s.deliveries)) {
		s.stop("%d deliveries are as many as a trace keeps", len(s.deliveries))
	}
}

// begin sets the moment from which all deliveries are traced, and hands on those that came since.
func (s *session) begin(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = at
	if s.request.Started != nil {
		s.request.Started(at)
	}
	s.deliveries = within(s.deliveries, at, time.Time{})
	if s.request.Delivered == nil {
		return
	}
	for _, d := range s.deliveries {
		s.request.Delivered(d)
	}
}

// end sets the moment up to which they are, and returns them.
func (s *session) end(at time.Time) []dedup.TracedDelivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = at
	return within(s.deliveries, s.began, at)
}

// within returns the deliveries after one moment and until another, which may be open.
func within(all []dedup.TracedDelivery, after, until time.Time) []dedup.TracedDelivery {
	kept := all[:0]
	for _, d := range all {
		if d.At.After(after) && (until.IsZero() || !d.At.After(until)) {
			kept = append(kept, d)
		}
	}
	clear(all[len(kept):])
	return kept
}

// run traces. The tap is bound, and tracing is as it was found.
func (s *session) run(ctx context.Context) (dedup.Trace, error) {
	from, err := s.tap.consume()
	if err != nil {
		return dedup.Trace{}, public(err)
	}
	collected := make(chan struct{})
	go func() { defer close(collected); s.collect(from) }()
	defer func() { s.tap.close(); <-collected }()
	if err := s.switchOn(ctx); err != nil {
		s.switchOff()
		return dedup.Trace{}, public(err)
	}
	began, err := s.counts.begin(ctx)
	if err != nil {
		s.switchOff()
		return dedup.Trace{}, public(err)
	}
	s.begin(began)
	s.tap.keep() // whoever stops it wants all that came until the broker's counts were read again
	trace := dedup.Trace{Began: began, Stopped: s.watch(ctx)}
	// What is left is done though nobody waits for it any more.
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), nodeTimeout)
	defer cancel()
	trace.Ended = s.counts.end(rest)
	trace.Deliveries = s.end(trace.Ended)
	select {
	case <-collected:
		s.letGo(rest)
	default:
	}
	if still := s.switchOff(); still != "" {
		trace.Stopped = join(trace.Stopped, still)
	}
	s.tap.close()
	trace.Traced = float64(len(trace.Deliveries))
	settling, done := context.WithTimeout(context.WithoutCancel(ctx), offWithin) // one that was stopped tells what it saw
	trace.Counted, trace.Unsure = s.counts.settle(settling, trace.Deliveries)
	done()
	return trace, nil
}

// letGo waits a little, where the broker has ended our queue, until the vhost is gone: it may be being deleted, which ends what is in it first, and
// to switch off in the midst of that would make it anew.
func (s *session) letGo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, vhostGoes)
	defer cancel()
	for {
		if _, there, err := find(ctx, s.t.watch, s.vhost); err != nil || !there {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(vhostGoes / 10):
		}
	}
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ". " + b
}

// watch waits until the time is up, and returns why it ended before.
func (s *session) watch(outer context.Context) string {
	ctx, cancel := context.WithTimeout(outer, s.request.For)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() { s.watchItself(ctx) })
	watching.Go(func() { s.watchBroker(ctx) })
	watching.Go(func() {
		every(ctx, tick, func() bool {
			s.counts.look(ctx)
			return true
		})
	})
	select {
	case why := <-s.stopped:
		return why
	case <-ctx.Done():
		if outer.Err() != nil {
			return "it was cancelled"
		}
		return ""
	}
}

// switchOn switches tracing on, or waits until somebody has.
func (s *session) switchOn(ctx context.Context) error {
	switch s.Switch {
	case dedup.TraceIsOn:
		return nil
	case dedup.TraceByOperator:
		return s.awaitOn(ctx)
	}
	now := time.Now()
	deadline := now.Add(s.request.For + grace)
	path := s.t.intentPath()
	if err := newIntent(s.t.config.Name, s.found.vhost, s.dark, now, deadline).write(path); err != nil {
		return err
	}
	o := order{Intent: path, Broker: s.t.config.Name, Vhost: s.vhost, Username: s.t.account.Username, Password: s.t.account.Password.Reveal(),
		CAFile: s.t.config.CAFile, CertFile: s.t.config.CertFile, KeyFile: s.t.config.KeyFile, Deadline: deadline}
	for _, node := range s.dark {
		o.Nodes = append(o.Nodes, node.Place())
	}
	guard, err := startGuard(s.t.options.Guard, o)
	if err != nil {
		_ = removeIntent(path)
		s.dark = nil // nothing was switched
		return err
	}
	if s.guard = guard; s.t.guarded != nil {
		s.t.guarded(guard)
	}
	err = s.dark.on(ctx, s.vhost)
	s.doubtful = err != nil
	return err
}

// awaitOn waits for an operator.
func (s *session) awaitOn(ctx context.Context) error {
	wait := s.request.Wait
	if wait <= 0 {
		wait = operatorWait
	}
	limit := time.NewTimer(wait)
	defer limit.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		v, ok, err := find(ctx, s.t.watch, s.vhost)
		if err == nil && ok && v.Tracing {
			return nil
		}
		select {
		case <-ctx.Done():
			return &dedup.Error{Kind: dedup.Conflict, Public: "it was cancelled before tracing was switched on"}
		case why := <-s.stopped:
			return &dedup.Error{Kind: dedup.Unavailable, Public: why}
		case <-limit.C:
			return &dedup.Error{Kind: dedup.Conflict, Public: fmt.Sprintf("nobody switched tracing on within %s; it is switched on by: %s", wait, s.On[0])}
		case <-ticker.C:
		}
	}
}

// switchOff ends what switchOn began. It returns what is to be told where tracing is still on: it is then tried on, by us and by the guard.
func (s *session) switchOff() string {
	if s.guard == nil {
		return ""
	}
	within, again := offWithin, []time.Duration{0}
	if s.doubtful { // what was sent and not answered may switch on yet
		again = looks()
		for _, wait := range again {
			within += wait
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := s.dark.offForGood(ctx, s.vhost, again, func() {})
	if err == nil {
		s.forget()
		return ""
	}
	s.t.log.Error("tracing is not off yet; it is tried on", "broker", s.t.config.Name, "vhost", s.vhost, "err", err)
	s.t.keepTurn() // no other trace begins meanwhile
	go func() {
		defer s.t.returnTurn()
		if s.dark.offForGood(s.t.life, s.vhost, looks(), func() {}) == nil {
			s.forget()
		}
	}()
	return fmt.Sprintf("Tracing of vhost %s is not off yet; it is tried on, and can be switched off by: %s",
		broker.Quote(s.vhost), broker.CtlLine("trace_off", "-p", s.vhost))
}

// forget ends the guard, and removes what was written down.
func (s *session) forget() {
	s.guard.dismiss()
	if err := removeIntent(s.t.intentPath()); err != nil {
		s.t.log.Error("the note of a trace stays", "err", err)
	}
}

// public is an error that may be shown.
func public(err error) error {
	var e *dedup.Error
	if errors.As(err, &e) {
		return e
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: publicText(err), Err: err}
}
