package ruletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	engine   *alerts.Engine
	history  history
	snapshot *dedup.Snapshot
	own      ownAlerts
}

// Snapshot implements the engine's source of snapshots.
func (s *stage) Snapshot() *dedup.Snapshot { return s.snapshot }

func (f *File) newStage(ctx context.Context) (*stage, error) {
	history, err := openHistory(ctx, f.setup.Rules, f.interval)
	if err != nil {
		return nil, err
	}
	s := &stage{history: history, own: ownAlerts{lives: make(map[rule.Key]*alerts.AlertView)}}
	var others []rule.Rule
	for _, r := range f.setup.Rules {
		if r.Kind == rule.OfDashboard && r.Measure != "" {
			s.own.rules = append(s.own.rules, r)
			continue
		}
		others = append(others, r)
	}
	deps := alerts.EngineDeps{Interval: max(patience, f.interval), Rules: others, Snapshots: s, History: history, Journal: forgetful{}}
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
	scene := t.scene(step, at, interval)
	if err := s.history.write(ctx, t, step, at); err != nil {
		return nil, err
	}
	s.snapshot = scene.snapshot
	s.engine.Evaluate(ctx, at)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	view := s.engine.View()
	if len(view.Errors) > 0 {
		return nil, errors.New(strings.Join(view.Errors, "; "))
	}
	return slices.Concat(view.Alerts, s.own.evaluate(at, interval, scene)), nil
}

// forgetful is a journal for one test.
type forgetful struct{}

func (forgetful) LoadAlerts(context.Context) ([]alerts.Alert, error) { return nil, nil }
func (forgetful) CommitTick(context.Context, alerts.Tick) error      { return nil }

// ownAlerts are those of the dashboard itself. The engine asks what is known of it of a watch, which looks at the real disk; so they
// are led through their lives here, by the same functions.
type ownAlerts struct {
	rules []rule.Rule
	lives map[rule.Key]*alerts.AlertView
}

func (o *ownAlerts) evaluate(at time.Time, interval time.Duration, s *scene) []*alerts.AlertView {
	var shown []*alerts.AlertView
	round := rule.NewRound(at, s.snapshot, s.self)
	for i := range o.rules {
		one := &o.rules[i]
		judgements, _ := one.Judge(round)
		for _, j := range judgements {
			before := o.lives[j.Key]
			if before == nil {
				before = &alerts.AlertView{}
			}
			a := &alerts.AlertView{Alert: alerts.Alert{Key: j.Key, Last: j}, Rule: one}
			seen := one.Evaluation(j)
			seen.Interval = interval
			a.State, _, _ = before.State.Next(seen, one.Timing)
			o.lives[j.Key] = a
			shown = append(shown, a)
		}
	}
	return shown
}
