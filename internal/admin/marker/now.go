package marker

import (
	"context"
	"fmt"
	"slices"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// MaxNow is the most markers that Now reads at once.
const MaxNow = 50

// Now reads markers of a store as they are at this moment, in the order of the keys and without their values; nil where there
// is none. It takes 2 s at most. Operators may.
func (m *Markers) Now(ctx context.Context, who admin.Caller, store string, keys []string) ([]*dedup.Sighting, error) {
	if err := m.allow(ctx, who, auth.Operator, "look_at_marker", store); err != nil {
		return nil, err
	}
	st, err := m.stores.reading(store)
	if err != nil {
		return nil, err
	}
	if len(keys) > MaxNow {
		return nil, admin.Invalid(fmt.Sprintf("At most %d markers can be read at once", MaxNow))
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	now := make([]*dedup.Sighting, 0, len(keys))
	for batch := range slices.Chunk(keys, lookBatch) {
		seen, err := look(ctx, st, batch)
		if err != nil {
			return nil, err
		}
		for _, s := range seen {
			if s != nil {
				s = admin.WithoutValue(*s)
			}
			now = append(now, s)
		}
	}
	return now, nil
}

// underWay returns the operation of this process that has not come to its end with a marker; empty when there is none.
func (m *Markers) underWay(ctx context.Context, store, key string) string {
	for _, id := range m.operations.IDs() {
		o, ok, err := m.deps.Journal.Operation(ctx, id)
		if err != nil {
			m.deps.Log.Error("an operation that is under way cannot be read", "operation", id, "err", err)
			continue
		}
		if ok && o.Ended.IsZero() && o.Plan.Request.Store == store && o.awaits(key) {
			return id
		}
	}
	return ""
}

// awaits reports whether a marker is an item of the operation that has no outcome yet.
func (o Operation) awaits(key string) bool {
	for i, it := range o.Plan.Items {
		if it.Seen.Key == key && (i >= len(o.Outcomes) || o.Outcomes[i].At.IsZero() || o.Outcomes[i].Begun) {
			return true
		}
	}
	return false
}
