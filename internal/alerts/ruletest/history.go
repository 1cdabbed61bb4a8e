package ruletest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/series"
)

// A history answers the PromQL of rules during one test.
type history interface {
	At(at time.Time) series.Ask
	// write keeps what the series hold at one step.
	write(ctx context.Context, t *test, step int, at time.Time) error
	close() error
}

// openHistory opens an empty history. Where no rule asks one it is none.
func openHistory(ctx context.Context, rules []rule.Rule, interval time.Duration) (history, error) {
	if !slices.ContainsFunc(rules, func(r rule.Rule) bool { return len(queries(r)) > 0 && !r.Disabled }) {
		return noHistory{}, nil
	}
	dir, err := os.MkdirTemp("", "dashboard-test-rules-")
	if err != nil {
		return nil, fmt.Errorf("keep the history of a test: %w", err)
	}
	db, err := series.Open(series.Config{Dir: dir, Interval: interval}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the history of a test: %w", err), os.RemoveAll(dir))
	}
	kept := &keptHistory{DB: db, dir: dir}
	select {
	case <-db.Ready():
		return kept, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), kept.close())
	}
}

// queries are the PromQL of a rule.
func queries(r rule.Rule) []string {
	return slices.DeleteFunc([]string{r.Expr, r.Numerator, r.Denominator}, func(promql string) bool { return promql == "" })
}

// keptHistory is one in a directory of its own.
type keptHistory struct {
	*series.DB
	dir string
}

func (h *keptHistory) write(ctx context.Context, t *test, step int, at time.Time) error {
	var held, ended []series.Sample
	for i := range t.inputs {
		in := &t.inputs[i]
		if in.setter != nil {
			continue
		}
		switch v := in.values.at(step); v.kind {
		case given:
			held = append(held, series.Sample{Name: in.name, Labels: in.labels, Value: v.number})
		case stale:
			ended = append(ended, series.Sample{Name: in.name, Labels: in.labels})
		}
	}
	if err := errors.Join(h.Append(ctx, at, held), h.MarkStale(ctx, at, ended)); err != nil {
		return fmt.Errorf("keep the history of a test: %w", err)
	}
	return nil
}

func (h *keptHistory) close() error { return errors.Join(h.Close(), os.RemoveAll(h.dir)) }

// noHistory has no series.
type noHistory struct{}

// At has no values.
func (noHistory) At(time.Time) series.Ask {
	return func(context.Context, string) ([]series.Value, error) { return nil, nil }
}

func (noHistory) write(context.Context, *test, int, time.Time) error { return nil }
func (noHistory) close() error                                       { return nil }
