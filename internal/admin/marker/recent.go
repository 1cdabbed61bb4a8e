package marker

import (
	"context"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// A Change is what an operation of ours did to a marker of late.
type Change struct {
	Result dedup.Result
	At     time.Time
	// Operation did it and By started it; empty for viewers.
	Operation string
	By        string
}

// recentOperations is how many operations are looked through for recent changes.
const recentOperations = 50

// Changed returns, by key, what operations did to markers of a store since a time: the last change of each that was done and
// seen to be done. So a list that was read before can say which of its markers are not as it shows them. Viewers may; who did
// it is for operators.
func (m *Markers) Changed(ctx context.Context, who admin.Caller, store string, since time.Time) (map[string]Change, error) {
	if err := m.allow(ctx, who, auth.Viewer, "browse_markers", store); err != nil {
		return nil, err
	}
	list, err := m.deps.Journal.Operations(ctx, recentOperations)
	if err != nil {
		return nil, admin.JournalError("The operations cannot be read", err)
	}
	changes := map[string]Change{}
	for _, s := range list {
		if s.Store != store || !s.Ended.IsZero() && s.Ended.Before(since) {
			continue
		}
		o, ok, err := m.deps.Journal.Operation(ctx, s.ID)
		if err != nil {
			return nil, admin.JournalError("The operations cannot be read", err)
		}
		if ok {
			o.changes(since, who.Can(auth.Operator), changes)
		}
	}
	return changes, nil
}

// changes adds what the operation did since a time, unless a later change of the same marker is there.
func (o Operation) changes(since time.Time, named bool, into map[string]Change) {
	for i, out := range o.Outcomes {
		switch out.Outcome.Result {
		case dedup.Cleared, dedup.ExpirySet, dedup.Restored:
		default:
			continue
		}
		key := o.Plan.Items[i].Seen.Key
		if out.At.Before(since) || into[key].At.After(out.At) {
			continue
		}
		c := Change{Result: out.Outcome.Result, At: out.At}
		if named {
			c.Operation, c.By = o.ID, o.By
		}
		into[key] = c
	}
}
