package alerts

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

const (
	// RuleWatchdog names the rule that always fires: what is amiss is its absence.
	RuleWatchdog = "watchdog"
	// RuleUnreachable, firing for a broker, inhibits the alerts of the pipelines on it.
	RuleUnreachable = "source_unreachable"
	// RuleDeliveryFailed and RuleOutboxOld name the rules that judge deliveries. A message about them that is not delivered is not judged.
	RuleDeliveryFailed = "delivery_failed"
	RuleOutboxOld      = "outbox_old"
)

const (
	// beatEvery is the time between two heartbeats, beatTimeout the bound of one.
	beatEvery   = time.Minute
	beatTimeout = 10 * time.Second
	// factsTimeout bounds one look at the outbox and the disk.
	factsTimeout = 5 * time.Second
	// lateAfter is the number of intervals after which an evaluation, or a look at ourselves, is late.
	lateAfter = 3
)

// A heart tells somebody outside that we live: a GET or POST to an address that raises an alarm when it stops hearing of us.
type heart interface {
	Beat(ctx context.Context) error
}

// WatchDeps are what the dashboard looks at to judge itself. Each may be nil: nothing is known of it then.
type WatchDeps struct {
	// Interval is that of the engine; 0 stands for 15 s.
	Interval time.Duration
	Heart    heart
	// Backlog tells of the outbox, FreeDisk which share (0 to 1) of the disk of the data directory is free, and AuditRefused why the
	// audit log takes no entry, empty while it does.
	Backlog      func(context.Context) (rule.Backlog, error)
	FreeDisk     func() (float64, error)
	AuditRefused func() string
	// ReceiverFaults tells which receivers take nothing while another one of their channel does.
	ReceiverFaults func() []rule.ReceiverFault
	Log            *slog.Logger
}

// A Pulse is how the heartbeat goes.
type Pulse struct {
	// Beaten is when one was last taken; zero where none was.
	Beaten time.Time
	// Err says why the last one was not sent or not taken, and ErrAt when; empty when all is well.
	Err   string
	ErrAt time.Time
}

// Watch keeps an eye on the dashboard itself, beside the engine: neither waits for the other.
type Watch struct {
	deps WatchDeps
	log  *slog.Logger

	mu    sync.Mutex
	self  rule.Self
	seen  time.Time // when the facts were last looked at to the end
	pulse Pulse
}

// NewWatch returns a watch that has not started.
func NewWatch(deps WatchDeps) *Watch {
	if deps.Interval <= 0 {
		deps.Interval = defaultEvaluation
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	return &Watch{deps: deps, log: deps.Log, self: rule.Self{Interval: deps.Interval}}
}

// Run looks and beats until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { every(ctx, w.deps.Interval, w.look) })
	if w.deps.Heart != nil {
		running.Go(func() {
			if waitFor(ctx, w.deps.Interval) { // for the first evaluation
				every(ctx, beatEvery, w.beat)
			}
		})
	}
	running.Wait()
	return nil
}

// every calls do at once and then at each tick until ctx ends.
func every(ctx context.Context, gap time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(gap)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// waitFor sleeps and reports false when ctx ended first.
func waitFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Self returns what is known at a time. How full the disk is cannot be told when nothing answered for three intervals; of the outbox
// what was known last stands, since an alert must not end because nobody can look.
func (w *Watch) Self(at time.Time) rule.Self {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.self
	if at.Sub(w.seen) > lateAfter*w.deps.Interval {
		s.DiskFree = nil
	}
	return s
}

// Pulse returns how the heartbeat goes.
func (w *Watch) Pulse() Pulse {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pulse
}

// OnTime reports whether rules were evaluated, and the outcome kept, within the last three intervals.
func (w *Watch) OnTime(at time.Time) bool {
	last := w.Self(at).LastEvaluation
	return !last.IsZero() && at.Sub(last) <= lateAfter*w.deps.Interval
}

// Evaluated notes that the rules were evaluated and the outcome kept.
func (w *Watch) Evaluated(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.self.LastEvaluation = at
}

// look asks for the facts, without the lock: a disk that hangs must not hang who asks for what is known.
func (w *Watch) look(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	var found rule.Self
	var errs []error
	if w.deps.FreeDisk != nil {
		free, err := w.deps.FreeDisk()
		errs = append(errs, err)
		if err == nil {
			found.DiskFree = &free
		}
	}
	if w.deps.AuditRefused != nil {
		found.AuditRefused = w.deps.AuditRefused()
	}
	if w.deps.ReceiverFaults != nil {
		found.ReceiverFaults = w.deps.ReceiverFaults()
	}
	var unread error
	if w.deps.Backlog != nil {
		found.Outbox, unread = w.deps.Backlog(bounded)
	}
	if ctx.Err() != nil {
		return
	}
	if err := errors.Join(append(errs, unread)...); err != nil {
		w.log.Warn("the dashboard cannot look at itself", "err", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if unread != nil {
		found.Outbox = w.self.Outbox
	}
	found.Interval, found.LastEvaluation = w.self.Interval, w.self.LastEvaluation
	w.self = found
	w.seen = time.Now()
}

// publicError is an error in words that may be shown; empty for none.
func publicError(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	if public, ok := errors.AsType[*dedup.Error](err); ok {
		return public.Public
	}
	if delivery, ok := errors.AsType[*DeliveryError](err); ok {
		return delivery.Public
	}
	return "it cannot be read; the log says why"
}

// beat sends a heartbeat, if the evaluations are on time: its absence is the alarm.
func (w *Watch) beat(ctx context.Context) {
	if !w.OnTime(time.Now()) {
		w.beaten(time.Time{}, "none is sent: rules are not evaluated on time")
		return
	}
	bounded, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	err := w.deps.Heart.Beat(bounded)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.beaten(time.Time{}, publicError(err))
	default:
		w.beaten(time.Now(), "")
	}
}

// beaten notes how a heartbeat went, and logs when that is news.
func (w *Watch) beaten(at time.Time, why string) {
	w.mu.Lock()
	news := w.pulse.Err != why
	w.pulse.Err, w.pulse.ErrAt = why, time.Time{}
	if why == "" {
		w.pulse.Beaten = at
	} else {
		w.pulse.ErrAt = time.Now()
	}
	w.mu.Unlock()
	switch {
	case !news:
	case why == "":
		w.log.Info("the heartbeat is taken again")
	default:
		w.log.Warn("the heartbeat is not sent or not taken", "why", why)
	}
}
