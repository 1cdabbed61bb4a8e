package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// leave is below which share of its limit a tier ends.
const leave = 0.8

// limits are those of the duplicate rate, by tier.
func limits() map[string]float64 {
	return map[string]float64{"warning": 0.01, "severe": 0.03, "emergency": 0.10}
}

// A turn of the knob: which share is sent twice, and which tier follows.
type turn struct {
	share float64
	tier  string
}

// turns go up and back. A message that is sent twice is one duplicate of two messages, so that 2 % sent twice is a rate of 1.96 %.
func turns() []turn {
	return []turn{{0.02, "warning"}, {0.05, "severe"}, {0.15, "emergency"}, {0.05, "severe"}, {0.02, "warning"}, {0, "normal"}}
}

// A step is what followed from one turn.
type step struct {
	turn
	before float64 // the share before
	edge   edge
	// value is the rate at the edge, reached and told how long after the turn the tier changed and the receiver was told.
	value         float64
	reached, told time.Duration
}

// A climb turns the knob and watches.
type climb struct {
	site     *site
	patience time.Duration
	notes    io.Writer
	// seen are the evaluations of the alert, by their times.
	seen  map[time.Time]evaluation
	steps []step
}

// run turns the knob as planned, each time once the tier of the time before is reached and told. The shop has run for a while then.
func (c *climb) run(ctx context.Context, calm time.Duration) error {
	fmt.Fprintf(c.notes, "the shop runs for %s without duplicates\n", calm)
	began := time.Now()
	err := c.site.dashboard.awaitAnswer(ctx, calm+time.Minute, "a normal rate", func() error {
		a, err := c.look(ctx)
		switch {
		case err != nil:
			return err
		case a.Tier != "normal" || a.Health != "ok":
			return fmt.Errorf("tier %s, health %s: %s", a.Tier, a.Health, a.Why)
		case time.Since(began) < calm:
			return fmt.Errorf("%s of %s passed", time.Since(began).Round(time.Second), calm)
		}
		return nil
	})
	before := turn{0, "normal"}
	for _, next := range turns() {
		if err != nil {
			return err
		}
		err = c.turn(ctx, before, next)
		before = next
	}
	return err
}

// look reads the alert and keeps its evaluations.
func (c *climb) look(ctx context.Context) (alert, error) {
	a, err := c.site.dashboard.alert(ctx, duplicateRate)
	for _, e := range a.Evaluations {
		c.seen[e.At] = e
	}
	return a, err
}

// turn turns the knob and waits for the tier, and until the receiver was told of it.
func (c *climb) turn(ctx context.Context, before, next turn) error {
	turned := time.Now()
	if err := c.site.shop.SetDuplicates(pipeline, next.share); err != nil {
		return err
	}
	s := step{turn: next, before: before.share}
	err := c.site.dashboard.awaitAnswer(ctx, c.patience, next.tier, func() error {
		a, err := c.look(ctx)
		if err != nil {
			return err
		}
		if len(a.Edges) != len(c.steps)+1 {
			return fmt.Errorf("tier %s with %d edges: %s", a.Tier, len(a.Edges), a.Why)
		}
		s.edge = a.Edges[0]
		return nil
	})
	if err != nil {
		return err
	}
	s.reached = s.edge.At.Sub(turned)
	if e, ok := c.seen[s.edge.At]; ok && e.Value != nil {
		s.value = *e.Value
	}
	err = c.site.dashboard.awaitAnswer(ctx, 30*time.Second, "the notification of "+next.tier, func() error {
		told, err := c.toldOfRate()
		if err == nil && len(told) <= len(c.steps) {
			err = fmt.Errorf("%d notifications of the rate", len(told))
		}
		if err == nil {
			s.told = told[len(c.steps)].At.Sub(turned)
		}
		return err
	})
	c.steps = append(c.steps, s)
	fmt.Fprintf(c.notes, "%s\n", s)
	return err
}

// toldOfRate returns what the receiver was told of the rule of duplicates.
func (c *climb) toldOfRate() ([]occasion, error) {
	all, err := c.site.told()
	return slices.DeleteFunc(all, func(o occasion) bool { return o.Key != duplicateRate }), err
}

// faults says what was not as it should be.
func (c *climb) faults(ctx context.Context) ([]string, error) {
	var wrong []string
	tier := "normal"
	told, err := c.toldOfRate()
	if err != nil {
		return nil, err
	}
	for i, s := range c.steps {
		if s.edge.From != tier || s.edge.To != s.tier {
			wrong = append(wrong, fmt.Sprintf("after %s from %s to %s, want %s to %s", percent(s.share), s.edge.From, s.edge.To, tier, s.tier))
		}
		if i < len(told) && told[i].Edge != s.edge.Kind {
			wrong = append(wrong, fmt.Sprintf("notification %d tells of %s, want %s", i+1, told[i].Edge, s.edge.Kind))
		}
		wrong = append(wrong, c.hysteresis(s)...)
		tier = s.tier
	}
	edges, err := c.site.dashboard.history(ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.site.told()
	if err != nil {
		return nil, err
	}
	return append(wrong, compare(edges, all)...), nil
}

// hysteresis says of a fall what was wrong with it: a tier stays while the rate is below its limit and above the share of it at which it ends.
func (c *climb) hysteresis(s step) []string {
	limit, falls := limits()[s.edge.From], s.share < s.before
	if !falls {
		return nil
	}
	if s.value >= leave*limit {
		return []string{fmt.Sprintf("%s ended at %s, above %s", s.edge.From, percent(s.value), percent(leave*limit))}
	}
	for _, at := range slices.SortedFunc(maps.Keys(c.seen), time.Time.Compare) {
		e := c.seen[at]
		if at.Before(s.edge.At) && e.Value != nil && *e.Value < limit && *e.Value >= leave*limit && e.Tier == s.edge.From {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s was never seen to stay between %s and %s", s.edge.From, percent(leave*limit), percent(limit))}
}

func percent(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }

// String is one row of the table.
func (s step) String() string {
	return fmt.Sprintf("| %g → %g %% | %s | %s | %s | %s | %d ms |", 100*s.before, 100*s.share, s.edge.Kind, s.edge.To, percent(s.value),
		s.reached.Round(time.Second), (s.told - s.reached).Milliseconds())
}

// table returns the steps as a table of Markdown.
func (c *climb) table() string {
	rows := []string{
		"| sent twice | edge | tier | rate then | after the turn | told after the edge |",
		"|---|---|---|---|---|---|",
	}
	for _, s := range c.steps {
		rows = append(rows, s.String())
	}
	return strings.Join(rows, "\n")
}
