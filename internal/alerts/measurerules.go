package alerts

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// measureRules judges the rules that rest on the snapshot, and those of the dashboard itself.
type measureRules struct {
	rules []Rule
	// watch tells of the dashboard; nil where nothing is known of it.
	watch *Watch
}

// Judge implements ruleEvaluator. Only the end of ctx is an error.
func (m *measureRules) Judge(ctx context.Context, snapshot *dedup.Snapshot, at time.Time) ([]Judgement, error) {
	var self Self
	if m.watch != nil {
		self = m.watch.Self(at)
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
