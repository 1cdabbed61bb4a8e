package ruletest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// patience is the least interval that the engine is told: it waits for a part of it, which on a slow machine must not fail a test. Beside
// that the interval only tells where evaluations paused, which they never do here.
const patience = time.Minute

// beginning is when every test begins.
func beginning() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Name is what stands for the file in what is said of it.
func (f *File) Name() string { return f.name }

// Tests counts the tests of the file.
func (f *File) Tests() int { return len(f.tests) }

// Looks counts how often the tests of the file look at the alerts.
func (f *File) Looks() int {
	n := 0
	for _, t := range f.tests {
		n += len(t.looks)
	}
	return n
}

// Run runs every test by the engine of production and returns what was not as expected, in the order of the file. An error says that
// the tests could not be run: a full disk, a rule that cannot be evaluated, or the end of ctx.
func (f *File) Run(ctx context.Context) ([]Failure, error) {
	var all []Failure
	for i := range f.tests {
		failures, err := f.runTest(ctx, &f.tests[i])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", f.name, f.tests[i].line, f.tests[i].name, err)
		}
		all = append(all, failures...)
	}
	return all, nil
}

// A stage is what one test runs on.
type stage struct {
	engine  *alerts.Engine
	history *history
	*scene
}

// Snapshot implements the engine's source of snapshots.
func (s *stage) Snapshot() *dedup.Snapshot { return s.snapshot }

// Self implements the engine's watch over the dashboard, as Evaluated does.
func (s *stage) Self(time.Time) rule.Self { return s.self }

// Evaluated does nothing: a test says when rules were evaluated before.
func (s *stage) Evaluated(time.Time) {}

func (f *File) newStage(ctx context.Context) (*stage, error) {
	history, err := openHistory(ctx, f.setup.Rules, f.interval)
	if err != nil {
		return nil, err
	}
	s := &stage{history: history}
	deps := alerts.EngineDeps{
		Interval: max(patience, f.interval), Rules: f.setup.Rules, Snapshots: s, History: history, Journal: forgetful{}, Watch: s,
	}
	if s.engine, err = alerts.NewEngine(deps); err != nil {
		return nil, errors.Join(err, history.close())
	}
	return s, nil
}

// runTest runs one test until its last look.
func (f *File) runTest(ctx context.Context, t *test) (failures []Failure, err error) {
	s, err := f.newStage(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.history.close()) }()
	looks := t.looks
	for step := 0; len(looks) > 0; step++ {
		since := time.Duration(step) * f.interval
		shown, err := s.evaluate(ctx, t, step, since, f.interval)
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", span(since), err)
		}
		for len(looks) > 0 && looks[0].at == since {
			failures = append(failures, f.compare(t, looks[0], shown)...)
			looks = looks[1:]
		}
	}
	return failures, nil
}

// evaluate evaluates all rules at one step, and returns the alerts that a page would show.
func (s *stage) evaluate(ctx context.Context, t *test, step int, since, interval time.Duration) ([]*alerts.AlertView, error) {
	at := beginning().Add(since)
	s.scene = t.scene(step, at, interval)
	if err := s.history.write(ctx, t, step, at); err != nil {
		return nil, err
	}
	s.engine.Evaluate(ctx, at)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	view := s.engine.View()
	if len(view.Errors) > 0 {
		return nil, errors.New(strings.Join(view.Errors, "; "))
	}
	return view.Alerts, nil
}

// forgetful is a journal for one test.
type forgetful struct{}

func (forgetful) LoadAlerts(context.Context) ([]alerts.Alert, error) { return nil, nil }
func (forgetful) CommitTick(context.Context, alerts.Tick) error      { return nil }
