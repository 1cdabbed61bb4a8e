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

// A history answers the PromQL of rules during one test, from a directory of its own; without a DB it has no series.
type history struct {
	*series.DB
	dir string
}

// openHistory opens an empty history. Where no rule asks one it has no DB.
func openHistory(ctx context.Context, rules []rule.Rule, interval time.Duration) (*history, error) {
	if !slices.ContainsFunc(rules, func(r rule.Rule) bool { return len(queries(r)) > 0 && !r.Disabled }) {
		return &history{}, nil
	}
	dir, err := os.MkdirTemp("", "dashboard-test-rules-")
	if err != nil {
		return nil, fmt.Errorf("keep the history of a test: %w", err)
	}
	db, err := series.Open(series.Config{Dir: dir, Interval: interval}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the history of a test: %w", err), os.RemoveAll(dir))
	}
	kept := &history{db, dir}
	select {
	case <-db.Ready():
		return kept, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), kept.close())
	}
}

// At implements rule.History.
func (h *history) At(at time.Time) series.Ask {
	if h.DB == nil {
		return func(context.Context, string) ([]series.Value, error) { return nil, nil }
	}
	return h.DB.At(at)
}

// queries are the PromQL of a rule.
func queries(r rule.Rule) []string {
	return slices.DeleteFunc([]string{r.Expr, r.Numerator, r.Denominator}, func(promql string) bool { return promql == "" })
}

// write keeps what the series hold at one step.
func (h *history) write(ctx context.Context, t *test, step int, at time.Time) error {
	if h.DB == nil {
		return nil
	}
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

func (h *history) close() error {
	if h.DB == nil {
		return nil
	}
	return errors.Join(h.Close(), os.RemoveAll(h.dir))
}
