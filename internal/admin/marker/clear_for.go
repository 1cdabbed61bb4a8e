package marker

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// ClearFor clears markers whose messages lie in a dead-letter queue and are about to be requeued, and returns when it has
// ended. It is an operation like every other: each marker is read and judged again, compared, its image kept and the clear
// audited, and it can be undone. A marker that is not cleared has an outcome that says why. Admins may.
func (m *Markers) ClearFor(ctx context.Context, who admin.Caller, req admin.ClearForRequest) (string, map[string]dedup.Outcome, error) {
	act := admin.Action{Name: "clear_for_requeue", Target: admin.Printable(req.Store, admin.MaxTarget), Needs: auth.Admin}
	if err := m.deps.Gate.Allow(ctx, who, act); err != nil {
		return "", nil, err
	}
	if len(req.Keys) > MaxPlanned {
		return "", nil, admin.Invalid(fmt.Sprintf("At most %d markers are cleared at once", MaxPlanned))
	}
	st, err := m.stores.acting(req.Store)
	if err != nil {
		return "", nil, m.deps.Gate.Refuse(ctx, who, act, err)
	}
	p := Plan{ID: rand.Text(), Made: m.deps.Now(), By: who.Name, Request: PlanRequest{
		Deed: admin.ClearMarkers, Store: req.Store, Keys: req.Keys, AlsoRetry: req.AlsoRetry,
	}}
	if err := m.planClearFor(ctx, st, &p, req.Single); err != nil {
		return "", nil, err
	}
	outcomes := map[string]dedup.Outcome{}
	for _, left := range p.LeftOut {
		outcomes[left.Key] = dedup.Outcome{Result: dedup.Refused, Text: left.Why}
		if left.Why == goneWhy {
			outcomes[left.Key] = dedup.Outcome{Result: dedup.Gone}
		}
	}
	if len(p.Items) == 0 {
		return "", outcomes, nil
	}
	if err := m.deps.Journal.SavePlan(ctx, p); err != nil {
		return "", nil, admin.JournalError("No marker was cleared, because the journal cannot be written", err)
	}
	r, id, err := m.claimPlan(ctx, who, st, Operation{Plan: p, By: who.Name, Reason: req.Reason, Started: m.deps.Now()}, "")
	if err != nil {
		return "", nil, err
	}
	m.carryOut(r)
	m.retire(id)
	return id, outcomes, m.clearedFor(ctx, id, outcomes)
}

// clearedFor adds what became of the items of an operation.
func (m *Markers) clearedFor(ctx context.Context, id string, outcomes map[string]dedup.Outcome) error {
	ctx, cancel := admin.Writing(ctx)
	defer cancel()
	o, ok, err := m.deps.Journal.Operation(ctx, id)
	if err != nil || !ok {
		return admin.JournalError("What became of the markers cannot be read", err)
	}
	for i, out := range o.Outcomes {
		if out.At.IsZero() {
			out.Outcome = dedup.Outcome{Result: dedup.NotDone, Text: o.Stopped}
		}
		outcomes[o.Plan.Items[i].Seen.Key] = out.Outcome
	}
	return nil
}

// goneWhy is why a marker is left out that is not there.
const goneWhy = "gone"

// planClearFor fills a plan with the markers that may be cleared for their dead letters.
func (m *Markers) planClearFor(ctx context.Context, st *Store, p *Plan, single bool) error {
	v := m.stores.view(st.Name)
	r := rules{scheme: st.Scheme, view: v, request: p.Request, now: p.Made}
	keys := slices.Compact(slices.Sorted(slices.Values(p.Request.Keys)))
	for batch := range slices.Chunk(keys, lookBatch) {
		seen, err := look(ctx, st, batch)
		if err != nil {
			return err
		}
		for i, s := range seen {
			if s == nil {
				p.LeftOut = append(p.LeftOut, LeftOut{Key: batch[i], Why: goneWhy})
				continue
			}
			item := newItem(*s)
			item.Verdict, item.Reasons = m.stores.judge(v, st, s.Marker, s.At)
			item.Seen.Marker = v.dated(item.Seen.Marker, st.Scheme)
			if why := r.leaveDead(item, single); why != "" {
				p.LeftOut = append(p.LeftOut, LeftOut{Key: s.Key, ID: s.ID, Why: why})
				continue
			}
			item.Effect = "its dead letter is requeued next, and runs"
			p.Items = append(p.Items, item)
		}
	}
	return nil
}

// leaveDead says why the marker of a dead letter is not cleared. That the message lies in a dead-letter queue says that the delivery
// which set the marker has ended; its worker may still be at it, after it lost its connection. So a marker is cleared when nothing
// speaks for a living owner and it is older than the longest processing time.
func (r rules) leaveDead(it PlanItem, single bool) string {
	switch {
	case it.Seen.State == dedup.StateUnknown:
		return "cannot be decoded: such markers are never changed"
	case it.Verdict == dedup.StillWorking:
		return "owner alive: " + reasons(it)
	case it.Seen.State == dedup.Done && !single:
		return "the work was done: such markers are cleared one by one, with typed confirmation"
	case it.Seen.State == dedup.Present && r.scheme.Mark == "before": // its owner may be at it like that of any other
	case it.Seen.State != dedup.Processing || !it.Verdict.OwnerUnknown():
		return ""
	}
	since, limit := it.Seen.Since, max(r.view.evidence.Limit(), leastWork)
	switch {
	case since.IsZero() && it.Seen.State == dedup.Present:
		return "it does not tell whether the work has ended, nor since when its owner is at it"
	case since.IsZero():
		return "cannot tell whether its owner is alive, nor since when it is at it: " + reasons(it)
	case r.now.Add(r.view.evidence.ClockOffset).Sub(since) < limit:
		return "set less than " + admin.Span(limit) + " ago: its owner may be at it"
	}
	return ""
}

// leastWork is how long work may take where nobody said so.
const leastWork = 30 * time.Second
