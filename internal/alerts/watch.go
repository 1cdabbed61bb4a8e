package alerts

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// RuleWatchdog names the rule that always fires: what is amiss is its absence.
const RuleWatchdog = "watchdog"

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

// A Failure is a channel that refused a notification for good.
type Failure struct {
	Channel string
	At      time.Time
	// Why is what the channel said, in words that may be shown.
	Why string
}

// A Backlog is how the outbox stands.
type Backlog struct {
	// Oldest is when the oldest notification that waits was put there, zero when none waits; Waiting counts them.
	Oldest  time.Time
	Waiting int
	// Failed are the permanent failures that are not yet made good by a delivery of the same channel.
	Failed []Failure
}

// WatchDeps are what the dashboard looks at to judge itself. Each may be nil: nothing is known of it then.
type WatchDeps struct {
	// Interval is that of the engine.
	Interval time.Duration
	Heart    heart
	// Backlog tells of the outbox, FreeDisk which share (0 to 1) of the disk of the data directory is free.
	Backlog  func(context.Context) (Backlog, error)
	FreeDisk func() (float64, error)
	Log      *slog.Logger
}

// Self is what the dashboard knows of itself. A fact that cannot be told has an error in its place.
type Self struct {
	At time.Time
	// Started is when the watch began, Evaluated when rules were last evaluated and the outcome kept, zero before the first time.
	Started, Evaluated time.Time
	Interval           time.Duration
	Backlog            Backlog
	BacklogErr         string
	// FreeDisk is the free share of the disk, 0 to 1.
	FreeDisk    float64
	FreeDiskErr string
	// Beaten is the last heartbeat that was taken, BeatErr why the last one was not; both empty where there is no heartbeat.
	Beaten  time.Time
	BeatErr string
}

// Late is how long ago rules were last evaluated, or the watch began where they never were.
func (s Self) Late() time.Duration {
	since := s.Evaluated
	if since.Before(s.Started) {
		since = s.Started
	}
	return max(0, s.At.Sub(since))
}

// OnTime reports whether rules are evaluated as often as they should be.
func (s Self) OnTime() bool { return !s.Evaluated.IsZero() && s.Late() <= lateAfter*s.Interval }

// Watch keeps an eye on the dashboard itself, beside the engine: neither waits for the other.
type Watch struct {
	deps WatchDeps
	log  *slog.Logger

	mu   sync.Mutex
	self Self
	seen time.Time // when the facts were last looked at with an answer, good or bad
}

// NewWatch returns a watch that has not started.
func NewWatch(deps WatchDeps) *Watch {
	if deps.Interval <= 0 {
		deps.Interval = defaultEvaluation
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	w := &Watch{deps: deps, log: deps.Log}
	w.self.Interval, w.self.Started = deps.Interval, time.Now()
	w.self.BacklogErr, w.self.FreeDiskErr = "not looked at yet", "not looked at yet"
	return w
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

// Self returns what is known at a time. What was not looked at for three intervals cannot be told.
func (w *Watch) Self(at time.Time) Self {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.self
	s.At = at
	if !w.seen.IsZero() && at.Sub(w.seen) > lateAfter*s.Interval {
		s.BacklogErr = firstNonEmpty(s.BacklogErr, "the outbox has not answered since "+w.seen.Format(time.TimeOnly))
		s.FreeDiskErr = firstNonEmpty(s.FreeDiskErr, "the disk has not answered since "+w.seen.Format(time.TimeOnly))
	}
	return s
}

// evaluated notes that the rules were evaluated and the outcome kept.
func (w *Watch) evaluated(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.self.Evaluated = at
}

// look asks for the facts, without the lock: a disk that hangs must not hang who asks for what is known.
func (w *Watch) look(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	var (
		found Self
		err   = errors.New("nothing tells")
	)
	if w.deps.Backlog != nil {
		found.Backlog, err = w.deps.Backlog(bounded)
	}
	found.BacklogErr = publicError(err)
	if err = errors.New("nothing tells"); w.deps.FreeDisk != nil {
		found.FreeDisk, err = w.deps.FreeDisk()
	}
	found.FreeDiskErr = publicError(err)
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.self.Backlog, w.self.BacklogErr = found.Backlog, found.BacklogErr
	w.self.FreeDisk, w.self.FreeDiskErr = found.FreeDisk, found.FreeDiskErr
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
	var public *dedup.Error
	var delivery *DeliveryError
	switch {
	case errors.As(err, &public):
		return public.Public
	case errors.As(err, &delivery):
		return delivery.Public
	}
	return "it cannot be read; the log says why"
}

// beat sends a heartbeat, if the evaluations are on time: its absence is the alarm.
func (w *Watch) beat(ctx context.Context) {
	self := w.Self(time.Now())
	if !self.OnTime() {
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
	news := w.self.BeatErr != why
	if why == "" {
		w.self.Beaten = at
	}
	w.self.BeatErr = why
	w.mu.Unlock()
	switch {
	case !news:
	case why == "":
		w.log.Info("the heartbeat is taken again")
	default:
		w.log.Warn("the heartbeat is not sent or not taken", "why", why)
	}
}

// JudgeWatchdog is the judgement of the rule that always fires, for as long as rules are evaluated at all.
func JudgeWatchdog(rule string, at time.Time) Judgement {
	return Judgement{
		Key: Key{Rule: rule, Kind: OfDashboard}, At: at, Labels: map[string]string{},
		Enters: dedup.Warning, Holds: dedup.Warning, Health: HealthOK, Value: 1, Limit: 1, Unit: dedup.Count,
		Why: "rules are evaluated: this alert always fires, and what is amiss is its absence",
	}
}
