package jobs

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/move"
)

// keptPlans is how many plans of jobs are kept in memory: each has up to MaxScan references, and MaxMovePlanned messages.
const keptPlans = 8

// jobPlans keeps the plans of the jobs that were read last. A plan never changes, and the page of a job is read again every few seconds:
// what that costs must not grow with the plan. What it returns is shared, and must not be changed. It is safe for concurrent use.
type jobPlans struct {
	mu sync.Mutex
	// newest is first.
	plans []move.Plan
}

// of returns a plan, from the journal where it is not kept.
func (k *jobPlans) of(ctx context.Context, journal movePlanJournal, id string) (move.Plan, error) {
	if p, ok := k.find(id); ok {
		return p, nil
	}
	p, _, ok, err := journal.MovePlan(ctx, id)
	switch {
	case err != nil:
		return move.Plan{}, err
	case !ok:
		return move.Plan{}, fmt.Errorf("the journal has no plan %s", admin.Printable(id, 64))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plans = slices.Insert(k.plans, 0, p)
	k.plans = slices.Delete(k.plans, min(len(k.plans), keptPlans), len(k.plans))
	return p, nil
}

func (k *jobPlans) find(id string) (move.Plan, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.plans, func(p move.Plan) bool { return p.ID == id })
	if i < 0 {
		return move.Plan{}, false
	}
	p := k.plans[i]
	copy(k.plans[1:i+1], k.plans[:i])
	k.plans[0] = p
	return p, true
}
