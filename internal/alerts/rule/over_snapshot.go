package rule

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// OverSnapshot judges the rules that rest on the snapshot, and those of the dashboard itself.
type OverSnapshot struct {
	rules []Rule
	// self tells of the dashboard; nil where nothing is known of it.
	self func(at time.Time) Self
}

// NewOverSnapshot returns the evaluator of those of the rules that rest on the snapshot. Self tells of the dashboard; it may be nil.
func NewOverSnapshot(rules []Rule, self func(at time.Time) Self) *OverSnapshot {
	return &OverSnapshot{rules: rules, self: self}
}

// Judge judges every subject by every rule of it. Only the end of ctx is an error.
func (m *OverSnapshot) Judge(ctx context.Context, snapshot *dedup.Snapshot, at time.Time) ([]Judgement, error) {
	var self Self
	if m.self != nil {
		self = m.self(at)
	}
	in := NewRound(at, snapshot, self)
	var out []Judgement
	for _, r := range m.rules {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("evaluate the rules over the snapshot: %w", err)
		}
		if judgements, ok := r.Judge(in); ok {
			out = append(out, judgements...)
		}
	}
	return out, nil
}
