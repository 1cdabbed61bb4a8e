package admin

import (
	"context"
	"errors"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// itemTimeout bounds one item: a marker that never expires is watched for 5 s.
	itemTimeout = 30 * time.Second
	// KeepImages is how long a cleared marker can be restored.
	KeepImages = 7 * 24 * time.Hour
)

// item carries one item out. Nothing is changed before the journal holds that the item was tried and the audit its intent.
func (r *run) item(life context.Context, item int) {
	m := r.markers
	ctx, cancel := context.WithTimeout(life, itemTimeout)
	defer cancel()
	if ctx.Err() != nil {
		r.halt(stoppedByEnd)
		return
	}
	if err := m.deps.Journal.Try(ctx, r.operation.ID, item, m.deps.Now()); err != nil {
		r.halt("the journal could not be written")
		m.deps.Log.Error("an item was not tried", "operation", r.operation.ID, "item", item, "err", err)
		return
	}
	planned := r.operation.Plan.Items[item]
	e := r.itemEntry(planned)
	out := ItemOutcome{Item: item}
	if err := r.gate.intend(ctx, e); err != nil {
		r.halt("the audit could not be written")
		m.deps.Log.Error("an item was not carried out", "operation", r.operation.ID, "item", item, "err", err)
		out.Outcome = dedup.Outcome{Result: dedup.NotDone, Text: "the audit could not be written"}
	} else {
		out.Outcome, out.Restorable = r.act(ctx, item, planned)
		defer r.audit(e, planned, &out)
	}
	r.keepOutcome(&out)
}

// itemEntry is the intent of one item; it belongs to the operation.
func (r *run) itemEntry(planned PlanItem) Entry {
	e := r.entry
	e.Action = string(r.operation.Plan.Request.Deed) + "_marker"
	e.Target = markerTarget(r.store.Name, planned.Seen.Key)
	e.Detail, e.Hash, e.Before = "", planned.Hash, describe(&planned.Seen)
	if r.operation.Plan.Request.Deed == RestoreMarkers {
		e.Before = describe(nil)
	}
	return e
}

// act changes one marker if it is as it was planned, and returns until when it can be restored.
func (r *run) act(ctx context.Context, item int, planned PlanItem) (dedup.Outcome, time.Time) {
	req := r.operation.Plan.Request
	if req.Deed == RestoreMarkers {
		return r.restore(ctx, req.Items[item]), time.Time{}
	}
	seen, refusal := r.check(ctx, planned)
	if refusal != nil {
		return *refusal, time.Time{}
	}
	if req.Deed == SetExpiry {
		return r.store.Actor.Expire(ctx, seen, req.TTL), time.Time{}
	}
	until := r.markers.deps.Now().Add(KeepImages)
	kept := false
	out := r.store.Actor.Clear(ctx, seen, req.AlsoRetry, func(image dedup.Sighting) error {
		err := r.markers.deps.Journal.Keep(ctx, r.operation.ID, item, image, until)
		kept = err == nil
		return err
	})
	if !kept || out.Result != dedup.Cleared && out.Result != dedup.UnknownOutcome {
		return out, time.Time{}
	}
	if end := time.UnixMilli(seen.ExpiresMillis); seen.ExpiresMillis != dedup.NoExpiry && end.Before(until) {
		until = end
	}
	return out, until
}

// check reads the marker again and judges it by the newest evidence. It returns the marker as it was planned with its
// whole value, or why it is not touched.
func (r *run) check(ctx context.Context, planned PlanItem) (dedup.Sighting, *dedup.Outcome) {
	found, err := look(ctx, r.store, []string{planned.Seen.Key})
	if err != nil {
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.NotDone, Text: dedup.PublicText(err)}
	}
	now := found[0]
	switch {
	case now == nil:
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.Gone}
	case now.Server != planned.Seen.Server:
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.Refused, Now: now, Text: "another server answers than when the plan was made: after a failover the marker may be an old copy"}
	case !sameMarker(*now, planned):
		return dedup.Sighting{}, &dedup.Outcome{Result: dedup.Changed, Now: now, Text: "now " + describe(now)}
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
	verdict, reasons := r.markers.judge(r.markers.view(r.store.Name), r.store, now.Marker, now.At)
	switch {
	case verdict == dedup.StillWorking:
		return "owner alive: " + strings.Join(reasons, "; ")
	case verdict == dedup.CannotTell && planned.Verdict != dedup.CannotTell:
		return "it cannot be told any more whether the owner is alive: " + strings.Join(reasons, "; ")
	}
	return ""
}

// restore writes an image back. The image is claimed first, so that none is restored twice, also by two operations at
// once; after an unknown outcome it stays claimed.
func (r *run) restore(ctx context.Context, item int) dedup.Outcome {
	m, undone := r.markers, r.operation.Plan.Request.Operation
	image, err := m.deps.Journal.Claim(ctx, undone, item, r.operation.ID)
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTimeout)
	defer cancel()
	if err := m.deps.Journal.Release(ctx, undone, item, r.operation.ID); err != nil {
		m.deps.Log.Error("an image that was not restored stays reserved", "operation", undone, "item", item, "err", err)
	}
	return out
}

// keepOutcome keeps what became of an item. It has happened: when it cannot be kept the operation is halted, and the
// item's outcome is unknown after a restart.
func (r *run) keepOutcome(out *ItemOutcome) {
	m := r.markers
	out.At = m.deps.Now()
	if out.Outcome.Now != nil {
		out.Outcome.Now = withoutValue(*out.Outcome.Now)
	}
	ctx, cancel := context.WithTimeout(context.Background(), outcomeTimeout)
	defer cancel()
	if err := m.deps.Journal.Done(ctx, r.operation.ID, *out); err != nil {
		r.halt("the journal could not be written")
		m.deps.Log.Error("the outcome of an item could not be kept", "operation", r.operation.ID, "item", out.Item, "result", out.Outcome.Result, "err", err)
	}
	r.count(out.Outcome.Result)
}

// audit records the outcome of an item.
func (r *run) audit(e Entry, planned PlanItem, out *ItemOutcome) {
	ctx, cancel := context.WithTimeout(context.Background(), outcomeTimeout)
	defer cancel()
	e.Detail = outcomeText(out.Outcome)
	switch out.Outcome.Result {
	case dedup.Cleared, dedup.Gone:
		e.After = describe(nil)
	case dedup.Restored, dedup.ExpirySet, dedup.Changed, dedup.Refused, dedup.UnknownOutcome:
		if out.Outcome.Now != nil {
			e.After = describe(out.Outcome.Now)
		} else if out.Outcome.Result == dedup.Restored {
			e.After = describe(&planned.Seen)
		}
	}
	phase := phaseOf(out.Outcome.Result)
	if err := r.gate.record(ctx, e, phase); err != nil {
		r.halt("the audit could not be written")
		r.markers.deps.Log.Error("the outcome of an item could not be recorded", "operation", r.operation.ID, "item", out.Item, "outcome", phase, "err", err)
	}
}

func phaseOf(result dedup.Result) string {
	switch result {
	case dedup.Cleared, dedup.ExpirySet, dedup.Restored:
		return Succeeded
	case dedup.UnknownOutcome:
		return Uncertain
	default:
		return Failed
	}
}

func outcomeText(o dedup.Outcome) string {
	if o.Text == "" {
		return string(o.Result)
	}
	return string(o.Result) + ": " + o.Text
}
