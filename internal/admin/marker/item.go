package marker

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

const (
	// itemTimeout bounds one item: a marker that never expires is watched for 5 s.
	itemTimeout = 30 * time.Second
	// KeepImages is how long a cleared marker can be restored.
	KeepImages = 7 * 24 * time.Hour
)

// Why an operation is halted.
const (
	stoppedByEnd = "the dashboard was stopped"
	auditFailed  = "the audit could not be written"
)

// item carries one item out. Nothing is changed before the journal holds that the item was tried and the audit its intent.
func (r *run) item(life context.Context, item int) {
	if life.Err() != nil {
		r.halt(stoppedByEnd)
		return
	}
	if err := r.try(life, item); err != nil {
		r.halt(admin.JournalFailed)
		r.markers.deps.Log.Error("an item was not tried", "operation", r.operation.ID, "item", item, "err", err)
		return
	}
	planned := r.operation.Plan.Items[item]
	e := itemEntry(r.entry, r.operation.Plan.Request, planned)
	out := ItemOutcome{Item: item}
	if err := r.intend(life, e); err != nil {
		r.halt(auditFailed)
		r.markers.deps.Log.Error("an item was not carried out", "operation", r.operation.ID, "item", item, "err", err)
		out.Outcome = dedup.Outcome{Result: dedup.NotDone, Text: auditFailed}
		r.keepOutcome(&out)
		return
	}
	out.Outcome, out.Restorable = r.actUntilStopped(life, item, planned)
	r.keepOutcome(&out)
	r.audit(outcomeEntry(e, planned, out.Outcome))
}

func (r *run) try(life context.Context, item int) error {
	ctx, cancel := admin.Writing(life)
	defer cancel()
	return r.markers.deps.Journal.Try(ctx, r.operation.ID, item, r.markers.deps.Now())
}

func (r *run) intend(life context.Context, e admin.Entry) error {
	ctx, cancel := admin.Writing(life)
	defer cancel()
	return r.gate.Intend(ctx, e)
}

// actUntilStopped changes one marker within its time. What a stop kept from being done says so.
func (r *run) actUntilStopped(life context.Context, item int, planned PlanItem) (dedup.Outcome, time.Time) {
	ctx, cancel := context.WithTimeout(life, itemTimeout)
	defer cancel()
	out, restorable := dedup.Outcome{Result: dedup.NotDone}, time.Time{}
	if ctx.Err() == nil {
		out, restorable = r.act(ctx, item, planned)
	}
	if life.Err() != nil {
		r.halt(stoppedByEnd)
		if out.Result == dedup.NotDone {
			out.Text = stoppedByEnd
		}
	}
	return out, restorable
}

// itemEntry is the intent of one item; it belongs to the operation, whose entry it begins with.
func itemEntry(e admin.Entry, req PlanRequest, planned PlanItem) admin.Entry {
	e.Action = string(req.Deed) + "_marker"
	e.Target = admin.MarkerTarget(req.Store, planned.Seen.Key)
	e.Detail, e.Hash, e.Before = "", planned.Hash, admin.Describe(&planned.Seen)
	if req.Deed == admin.RestoreMarkers {
		e.Before = admin.Describe(nil)
	}
	return e
}

// act changes one marker if it is as it was planned, and returns until when it can be restored.
func (r *run) act(ctx context.Context, item int, planned PlanItem) (dedup.Outcome, time.Time) {
	req := r.operation.Plan.Request
	if req.Deed == admin.RestoreMarkers {
		return r.restore(ctx, req.Items[item], planned.Interrupted), time.Time{}
	}
	seen, refusal := r.check(ctx, planned)
	if refusal != nil {
		return *refusal, time.Time{}
	}
	if req.Deed == admin.SetExpiry {
		return r.store.Actor.Expire(ctx, seen, cmp.Or(planned.TTL, req.TTL)), time.Time{}
	}
	until := r.markers.deps.Now().Add(KeepImages)
	kept := false
	out := r.store.Actor.Clear(ctx, seen, req.AlsoRetry, func(image dedup.Sighting) error {
		ctx, cancel := admin.Writing(ctx)
		defer cancel()
		err := r.markers.deps.Journal.Keep(ctx, r.operation.ID, item, image, until)
		kept = err == nil
		return err
	})
	if !kept || out.Result != dedup.Cleared && out.Result != dedup.UnknownOutcome {
		return out, time.Time{}
	}
	return out, restorable(seen, until)
}

// restorable returns until when an image that is kept so long can be restored: not beyond its own expiry.
func restorable(image dedup.Sighting, until time.Time) time.Time {
	if end := time.UnixMilli(image.ExpiresMillis); image.ExpiresMillis != dedup.NoExpiry && end.Before(until) {
		return end
	}
	return until
}

// check reads the marker again and judges it by the newest evidence. It returns the marker as it was planned with its
// whole value, or why it is not touched. The actor compares the expiry: it knows how exactly the server tells it.
func (r *run) check(ctx context.Context, planned PlanItem) (dedup.Sighting, *dedup.Outcome) {
	found, err := lookThrough(ctx, r.store, r.store.items, []string{planned.Seen.Key})
	if err != nil {
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.NotDone, Text: dedup.PublicText(err)}
	}
	now := found[0]
	switch {
	case now == nil:
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.Gone}
	case now.Server != planned.Seen.Server:
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.Refused, Now: now, Text: "another server answers than when the plan was made: after a failover the marker may be an old copy"}
	case !sameValue(*now, planned):
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.Changed, Now: now, Text: "now " + admin.Describe(now)}
	}
	if why := r.alive(*now, planned); why != "" {
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.Refused, Now: now, Text: why}
	}
	seen := planned.Seen
	seen.Value = now.Value
	return seen, nil
}

// alive says why the owner of a marker may be at work after all.
func (r *run) alive(now dedup.Sighting, planned PlanItem) string {
	verdict, reasons := r.markers.stores.judge(r.markers.stores.view(r.store.Name), r.store, now.Marker, now.At)
	switch {
	case verdict == dedup.StillWorking:
		return "owner alive: " + strings.Join(reasons, "; ")
	case verdict.OwnerUnknown() && !planned.Verdict.OwnerUnknown():
		return "it cannot be told any more whether the owner is alive: " + strings.Join(reasons, "; ")
	}
	return ""
}

// restore writes an image back. The image is claimed first, so that none is restored twice, also by two operations at
// once; after an unknown outcome it stays claimed, and only a plan that says so takes the claim over.
func (r *run) restore(ctx context.Context, item int, interrupted string) dedup.Outcome {
	m, undone := r.markers, r.operation.Plan.Request.Operation
	image, err := r.claim(ctx, item, interrupted)
	if errors.Is(err, ErrNoImage) {
		return dedup.Outcome{Result: dedup.Refused, Text: "it was restored already, or its image is not kept any more"}
	}
	if err != nil {
		m.deps.Log.Error("an image could not be read", "operation", undone, "item", item, "err", err)
		return dedup.Outcome{Result: dedup.NotDone, Text: "the image of the marker could not be read"}
	}
	out := r.store.Actor.Restore(ctx, image)
	if out.Result == dedup.Restored || out.Result == dedup.UnknownOutcome {
		return out
	}
	ctx, cancel := admin.Writing(ctx)
	defer cancel()
	if err := m.deps.Journal.Release(ctx, undone, item, r.operation.ID); err != nil {
		m.deps.Log.Error("an image that was not restored stays reserved", "operation", undone, "item", item, "err", err)
	}
	return out
}

func (r *run) claim(ctx context.Context, item int, interrupted string) (dedup.Sighting, error) {
	ctx, cancel := admin.Writing(ctx)
	defer cancel()
	return r.markers.deps.Journal.Claim(ctx, r.operation.Plan.Request.Operation, item, r.operation.ID, interrupted)
}

// keepOutcome keeps what became of an item. It has happened: when it cannot be kept the operation is halted, and the
// outcome is kept at the end, or is unknown after the recovery.
func (r *run) keepOutcome(out *ItemOutcome) {
	m := r.markers
	out.At = m.deps.Now()
	if now := out.Outcome.Now; now != nil {
		out.Outcome.Text = admin.WithoutDetail(out.Outcome.Text, now)
		out.Outcome.Now = admin.WithoutValue(*now)
	}
	r.count(out.Outcome.Result)
	ctx, cancel := admin.Writing(context.Background())
	defer cancel()
	if err := m.deps.Journal.Done(ctx, r.operation.ID, *out); err != nil {
		r.halt(admin.JournalFailed)
		r.owe(func() { r.owedOutcomes = append(r.owedOutcomes, *out) })
		m.deps.Log.Error("the outcome of an item could not be kept", "operation", r.operation.ID, "item", out.Item, "result", out.Outcome.Result, "err", err)
	}
}

// audit records the outcome of an item, or owes it until the end of the operation.
func (r *run) audit(e admin.Entry, phase string) {
	ctx, cancel := admin.Writing(context.Background())
	defer cancel()
	if err := r.gate.Record(ctx, e, phase); err != nil {
		r.halt(auditFailed)
		r.owe(func() { r.owedEntries = append(r.owedEntries, owedEntry{e, phase}) })
		r.markers.deps.Log.Error("the outcome of an item could not be recorded", "operation", r.operation.ID, "target", e.Target, "outcome", phase, "err", err)
	}
}

// outcomeEntry turns the intent of an item into its outcome, with the phase.
func outcomeEntry(e admin.Entry, planned PlanItem, out dedup.Outcome) (admin.Entry, string) {
	e.Detail = admin.OutcomeText(out)
	switch out.Result {
	case dedup.Cleared, dedup.Gone:
		e.After = admin.Describe(nil)
	case dedup.Restored, dedup.ExpirySet, dedup.Changed, dedup.Refused, dedup.UnknownOutcome:
		if out.Now != nil {
			e.After = admin.Describe(out.Now)
		} else if out.Result == dedup.Restored {
			e.After = admin.Describe(&planned.Seen)
		}
	}
	return e, phaseOf(out.Result)
}

func phaseOf(result dedup.Result) string {
	switch result {
	case dedup.Cleared, dedup.ExpirySet, dedup.Restored:
		return admin.Succeeded
	case dedup.Changed, dedup.Gone:
		return admin.Changed
	case dedup.UnknownOutcome:
		return admin.Uncertain
	default:
		return admin.Failed
	}
}
