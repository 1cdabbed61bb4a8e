package alerts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

const (
	// defaultEvaluation is the time between two evaluations unless configured.
	defaultEvaluation = 15 * time.Second
	// enginePatience bounds the wait for rules, silences and the journal, each; at a shorter interval it is two thirds of that.
	enginePatience = 10 * time.Second
	// maxUnkept bounds the edges that wait for a journal that refuses them: beyond it the engine waits too, and evaluates nothing.
	maxUnkept = 20_000
	// topicAlerts is the topic of what changed.
	topicAlerts = "alerts"
)

// An evaluator judges all subjects of a snapshot by the rules of one kind, beside the engine. It honours ctx.
type evaluator struct {
	lane[[]rule.Judgement]
	what  string
	judge func(ctx context.Context, snapshot *dedup.Snapshot, at time.Time) ([]rule.Judgement, error)
}

// The kinds of rules.
const (
	overSnapshot = iota
	overHistory
)

// A Tick is what one evaluation changed. It is kept in one transaction, or not at all.
type Tick struct {
	At time.Time
	// Alerts are those that are not normal, or no longer, and those of which something was lost or came back. A normal one that stays so
	// is not kept.
	Alerts []Alert
	Edges  []Transition
	// By is who took the acknowledgement of its only alert back; empty for an evaluation.
	By string
	// Due are put into the outbox; Sent is what channels count as told from then on.
	Due  []Notification
	Sent []Sent
}

// A Journal keeps alerts over a restart. An error says that nothing of the tick was kept: its edges come again with a later tick, and its
// messages are planned anew. While a commit has not answered nothing else is planned, and an answer that comes late counts as any other.
// An edge that comes although it is kept, after an error that was wrong, is passed over by its alert, kind and time.
type Journal interface {
	LoadAlerts(ctx context.Context) ([]Alert, error)
	CommitTick(ctx context.Context, tick Tick) error
}

// A planner decides what is told to whom. Edges are those since the last plan that was kept; Sent belongs to the newest plan, and
// Undo takes it back.
type planner interface {
	Plan(at time.Time, alerts []Alert, edges []Transition, silences []Silence) []Notification
	Sent() []Sent
	Undo()
}

// A flapper knows since when the edges of an alert are told in digests only.
type flapper interface {
	Flapping(k rule.Key) time.Time
}

// A silencer keeps the silences.
type silencer interface {
	// Silences returns those that have not ended.
	Silences(ctx context.Context) ([]Silence, error)
}

// A snapshotSource publishes what was read of brokers and stores.
type snapshotSource interface {
	Snapshot() *dedup.Snapshot
}

// A selfWatch knows the dashboard itself, and is told when rules were evaluated and the outcome kept; Watch is one.
type selfWatch interface {
	Self(at time.Time) rule.Self
	Evaluated(at time.Time)
}

// EngineDeps are what the engine works with. Planner, Silences and Watch may be nil.
type EngineDeps struct {
	// Interval is the time between two evaluations; 0 stands for 15 s.
	Interval time.Duration
	// Rules are resolved; their order is that of pages.
	Rules     []rule.Rule
	Snapshots snapshotSource
	// History answers the rules whose value PromQL gives.
	History  rule.History
	Journal  Journal
	Silences silencer
	Planner  planner
	Watch    selfWatch
	Log      *slog.Logger
	// Changed is called with the topic alerts after a view was published that says something new, Due after notifications were put
	// into the outbox. Neither may block.
	Changed func(topic string)
	Due     func()
}

// Engine evaluates all rules on its own ticker and leads each alert through its life. It waits for nothing longer than a part of its
// interval. It is safe for concurrent use.
type Engine struct {
	deps     EngineDeps
	log      *slog.Logger
	book     rule.Book
	patience time.Duration
	view     atomic.Pointer[View]
	silences silenceShelf
	// The lanes and what they brought belong to Evaluate, which is one goroutine.
	snapshots lane[*dedup.Snapshot]
	// rules are judged over the snapshot, where it gives their value, and over the history, where PromQL does.
	rules     [2]evaluator
	silencing lane[struct{}]
	loading   lane[[]Alert]
	snapshot  *dedup.Snapshot
	started   time.Time

	// mu guards the rest. It is held while the journal is written, so that nothing comes in between.
	mu      sync.Mutex
	loaded  bool
	alerts  map[rule.Key]*entry
	order   []*entry // in the order in which they were first judged
	commits lane[struct{}]
	// open is the tick whose commit was left without an answer; nil where there is none.
	open *Tick
	// unkept are the edges that the journal has not taken yet, and behind the alerts whose state it has not.
	unkept []Transition
	behind map[rule.Key]bool
	stats  struct{ evaluations, failedCommits uint64 }
}

// An entry is an alert at work.
type entry struct {
	Alert
	rule    *rule.Rule
	history []Evaluated
	// cause is what Cause says; without a kind where that was said before a restart.
	cause cause.Cause
	// notable: it was more than normal since we know of it, so that somebody may have been told of it.
	notable bool
}

// NewEngine returns an engine that has not started.
func NewEngine(deps EngineDeps) (*Engine, error) {
	switch {
	case deps.Snapshots == nil || deps.History == nil || deps.Journal == nil:
		return nil, errors.New("start the alert engine: it takes a source of snapshots, a history and a journal")
	case deps.Interval < 0:
		return nil, fmt.Errorf("start the alert engine: the interval %s is negative", deps.Interval)
	case deps.Interval == 0:
		deps.Interval = defaultEvaluation
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Changed == nil {
		deps.Changed = func(string) {}
	}
	if deps.Due == nil {
		deps.Due = func() {}
	}
	e := &Engine{deps: deps, log: deps.Log, book: rule.NewBook(deps.Rules), patience: min(enginePatience, deps.Interval*2/3),
		alerts: make(map[rule.Key]*entry), behind: make(map[rule.Key]bool), started: time.Now()}
	var self func(at time.Time) rule.Self
	if deps.Watch != nil {
		self = deps.Watch.Self
	}
	e.rules[overSnapshot] = evaluator{what: "rules over the snapshot", judge: rule.NewOverSnapshot(deps.Rules, self).Judge}
	e.rules[overHistory] = evaluator{what: "rules over the history", judge: rule.NewOverHistory(deps.Rules, deps.History).Judge}
	e.view.Store(&View{Interval: deps.Interval, Rules: slices.Clone(deps.Rules)})
	return e, nil
}

// Run evaluates until ctx ends and then returns nil.
func (e *Engine) Run(ctx context.Context) error {
	every(ctx, e.deps.Interval, func(ctx context.Context) { e.Evaluate(ctx, time.Now()) })
	return nil
}

// View returns the newest view, never nil. Before the first evaluation it has no alerts.
func (e *Engine) View() *View { return e.view.Load() }

// Evaluate judges everything once, as of a time: Run does so on its ticker. It must not be called twice at once.
func (e *Engine) Evaluate(ctx context.Context, at time.Time) {
	began := time.Now()
	if err := e.load(ctx); err != nil {
		e.complain(fmt.Sprintf("alerts of before cannot be read, so that no rule is evaluated: %s", publicError(err)))
		return
	}
	round := e.judge(ctx, at)
	if err := e.readSilences(ctx); err != nil {
		if !e.silences.known() {
			e.complain("silences cannot be read, so that no rule is evaluated until they can be: " + failure(err))
			return
		}
		round.errs = append(round.errs, "silences cannot be read; those that were known still hold: "+publicError(err))
	}
	if ctx.Err() != nil {
		return
	}
	e.mu.Lock()
	due, news := e.turn(ctx, at, round, began)
	e.mu.Unlock()
	if news {
		e.deps.Changed(topicAlerts)
	}
	if due {
		e.deps.Due()
	}
}

// turn steps every alert, keeps what changed, and publishes the view. It reports whether notifications were put into the outbox, and
// whether the view says something new.
func (e *Engine) turn(ctx context.Context, at time.Time, round judged, began time.Time) (due, news bool) {
	due, err := e.overdue()
	if len(e.unkept) < maxUnkept && !e.rests(at) {
		e.step(at, round)
	}
	if err == nil {
		tick := e.plan(at)
		if err = e.keep(ctx, tick); err == nil {
			due = due || len(tick.Due) > 0
		}
	}
	if err != nil {
		e.stats.failedCommits++
		if ctx.Err() != nil {
			return due, false
		}
		e.log.Error("alerts cannot be kept; the same edges are tried again with the next evaluation", "edges", len(e.unkept), "err", err)
		return due, e.publishErrors(append(round.errs, "alerts cannot be kept, so that nothing new is told: "+failure(err)))
	}
	e.stats.evaluations++
	if e.deps.Watch != nil {
		e.deps.Watch.Evaluated(at)
	}
	return due, e.publish(at, time.Since(began), round.errs)
}

// plan collects what is to be kept: what the journal has not taken yet, and what is to be told.
func (e *Engine) plan(at time.Time) Tick {
	tick := Tick{At: at, Edges: e.unkept}
	if e.deps.Planner != nil {
		var known []Alert
		for _, en := range e.order {
			if en.notable {
				known = append(known, en.Alert)
			}
		}
		tick.Due = e.deps.Planner.Plan(at, known, e.unkept, e.silences.now())
		tick.Sent = e.deps.Planner.Sent()
		if f, ok := e.deps.Planner.(flapper); ok {
			for _, en := range e.order {
				if since := f.Flapping(en.Key); en.notable && !since.Equal(en.Flapping) {
					en.Flapping = since
					e.behind[en.Key] = true
				}
			}
		}
	}
	for _, en := range e.order {
		if e.behind[en.Key] {
			tick.Alerts = append(tick.Alerts, en.Alert)
		}
	}
	return tick
}

// load reads the alerts of before a restart, once. Without them rules are not evaluated: every alert would fire a second time.
func (e *Engine) load(ctx context.Context) error {
	if e.loaded {
		return nil
	}
	known, err := e.loading.call(ctx, e.patience, e.deps.Journal.LoadAlerts)
	if err != nil {
		if ctx.Err() == nil {
			e.log.Error("alerts of before a restart cannot be read; no rule is evaluated until they can be", "err", err)
		}
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range known {
		if calm(a.State) { // it was not kept again at each evaluation, so that when it was last seen says nothing
			a.State.Seen = time.Time{}
		}
		e.add(&entry{Alert: a, notable: true})
		e.behind[a.Key] = true // so that none is forgotten before the planner has seen it: a channel may wait to hear of its end
	}
	e.loaded = true
	return nil
}

// calm reports whether a state says no more than that nothing is amiss.
func calm(s State) bool {
	return s.Phase == PhaseNormal && s.Health == rule.HealthOK && s.Reached == [3]time.Time{} && s.Below == [3]time.Time{} && s.Resumed.IsZero()
}

func (e *Engine) add(en *entry) {
	if _, have := e.alerts[en.Key]; have {
		return
	}
	e.alerts[en.Key] = en
	e.order = append(e.order, en)
}

// Acknowledge notes that somebody attends to an alert that was seen at a tier, until a time. An alert that there is not is an error of
// kind not_found; for the others see NewAck.
func (e *Engine) Acknowledge(ctx context.Context, k rule.Key, by, note string, seen dedup.Tier, until time.Time) error {
	return e.attend(ctx, k, by, func(a *Alert, at time.Time) (*Ack, error) {
		ack, err := NewAck(a, by, note, seen, at, until)
		return &ack, err
	})
}

// Unacknowledge takes an acknowledgement back. It is no error where there is none.
func (e *Engine) Unacknowledge(ctx context.Context, k rule.Key, by string) error {
	return e.attend(ctx, k, by, func(*Alert, time.Time) (*Ack, error) { return nil, nil })
}

// attend changes the acknowledgement of one alert. Only what the journal took holds.
func (e *Engine) attend(ctx context.Context, k rule.Key, by string, change func(*Alert, time.Time) (*Ack, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	en, ok := e.alerts[k]
	if !ok {
		return &dedup.Error{Kind: dedup.NotFound, Public: "There is no such alert"}
	}
	if len(e.unkept) > 0 || e.open != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "Alerts cannot be kept at present, so that nothing can be acknowledged; the alerts page says why"}
	}
	at := time.Now()
	ack, err := change(&en.Alert, at)
	if err != nil {
		return err
	}
	changed := en.Alert
	changed.Ack = ack
	if err := e.commit(ctx, Tick{At: at, By: by, Alerts: []Alert{changed}}); err != nil {
		return fmt.Errorf("keep the acknowledgement: %w", err)
	}
	en.Alert = changed
	e.republish(at)
	e.deps.Changed(topicAlerts)
	return nil
}
