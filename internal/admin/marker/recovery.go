package marker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// tidyEvery is how often old plans and images are purged, and what recovery could not finish is tried again.
const tidyEvery = 10 * time.Minute

// tidyAgain is how soon what failed is tried again.
const tidyAgain = time.Minute

// toBeCompleted is said of an operation that is neither running nor ended.
const toBeCompleted = "what became of its items could not be written down whole; that is tried again every few minutes"

// Run recovers what an earlier run of the program left unfinished, and then purges old plans and images until ctx ends.
func (m *Markers) Run(ctx context.Context) error {
	m.operations.Tend(ctx, func(ctx context.Context) time.Duration {
		err := m.tidy(ctx)
		if err == nil || ctx.Err() != nil {
			return tidyEvery
		}
		m.deps.Log.Error("the journal of operations could not be tidied; it is tried again", "in", tidyAgain, "err", err)
		return tidyAgain
	})
	return nil
}

func (m *Markers) tidy(ctx context.Context) error {
	unfinished, err := m.deps.Journal.Unfinished(ctx)
	errs := []error{err}
	for _, id := range unfinished {
		if m.operations.Live(id) != nil {
			continue
		}
		if err := m.recover(ctx, id); err != nil {
			errs = append(errs, fmt.Errorf("recover operation %s: %w", id, err))
		}
	}
	return errors.Join(append(errs, m.deps.Journal.Purge(ctx, m.deps.Now()))...)
}

// recover completes an operation that was left with items begun, outcomes not audited, or no end. It may itself be
// interrupted at any point: the audit tells what it has said already. The end comes last.
func (m *Markers) recover(ctx context.Context, id string) error {
	o, ok, err := m.deps.Journal.Operation(ctx, id)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("its plan is lost")
	}
	begun := slices.ContainsFunc(o.Outcomes, func(out ItemOutcome) bool { return out.Begun })
	if !o.Ended.IsZero() && !begun {
		return nil // it ended while this was on its way
	}
	said, err := readSaid(ctx, m.deps.Trail, id)
	if err != nil {
		return err
	}
	why, interrupted := m.whyLeft(id)
	rec := recovery{markers: m, operation: o, said: said, why: why}
	unknown, err := rec.items(ctx)
	if err != nil {
		return err
	}
	if err := rec.audit(ctx, unknown); err != nil {
		return err
	}
	if err := m.deps.Journal.End(ctx, id, m.deps.Now(), interrupted, why); err != nil {
		return err
	}
	m.operations.Written(id)
	m.deps.Log.Warn("an operation that was interrupted is completed", "operation", id, "why", why, "unknown_outcomes", unknown)
	m.deps.Changed("operation:" + id)
	return nil
}

// whyLeft says why an operation that has not ended was stopped, and whether that was the end of a run of the program.
func (m *Markers) whyLeft(id string) (why string, interrupted bool) {
	if r := m.operations.Owed(id); r != nil {
		why = cmp.Or(r.stopped, admin.JournalFailed)
		return why, why == stoppedByEnd
	}
	return "the program ended in the middle", true
}

// A recovery completes one operation.
type recovery struct {
	markers   *Markers
	operation Operation
	said      said
	why       string
}

// items audits and keeps what has no outcome or is not in the audit, and returns how many outcomes are unknown. The audit
// comes first: an item without an outcome is looked at again, one with an outcome and no intent would be passed over.
func (rec recovery) items(ctx context.Context) (unknown int, err error) {
	for _, out := range rec.operation.Outcomes {
		begun := out.Begun
		if begun {
			if out, err = rec.settle(ctx, out); err != nil {
				return 0, err
			}
		}
		if out.Outcome.Result == dedup.UnknownOutcome {
			unknown++
		}
		if err := rec.auditItem(ctx, out, begun); err != nil {
			return 0, err
		}
		if !begun {
			continue
		}
		if err := rec.markers.deps.Journal.Done(ctx, rec.operation.ID, out); err != nil {
			return 0, err
		}
	}
	return unknown, nil
}

// auditItem records the outcome of an item that was carried out, or may have been, unless the audit holds it.
func (rec recovery) auditItem(ctx context.Context, out ItemOutcome, begun bool) error {
	planned := rec.operation.Plan.Items[out.Item]
	e := itemEntry(rec.entry(), rec.operation.Plan.Request, planned)
	intent, intended := rec.said.intents[saidOf(e)]
	if _, told := rec.said.outcomes[saidOf(e)]; told || !intended && !begun {
		return nil
	}
	if intended {
		e = intent
	}
	e, phase := outcomeEntry(e, planned, out.Outcome)
	return rec.markers.deps.Gate.Record(ctx, e, phase)
}

// entry begins the entries on the operation, where the audit holds no intent to go on from.
func (rec recovery) entry() admin.Entry {
	o := rec.operation
	return admin.Entry{Operation: o.ID, Who: o.By, Target: o.Plan.Request.Store, Reason: o.Reason, Action: string(o.Plan.Request.Deed) + "_markers"}
}

// audit records the outcome of the whole operation.
func (rec recovery) audit(ctx context.Context, unknown int) error {
	e := rec.entry()
	if _, told := rec.said.outcomes[saidOf(e)]; told {
		return nil
	}
	if intent, intended := rec.said.intents[saidOf(e)]; intended {
		e = intent
	}
	e.Detail = fmt.Sprintf("%s; %s of unknown outcome", rec.why, admin.Plural(unknown, "item"))
	return rec.markers.deps.Gate.Record(ctx, e, admin.Uncertain)
}

// settle returns the outcome of an item that was begun: the one that the audit holds, else an unknown one. Then it may have been
// carried out or not: the marker is read again, and what is there now is said.
func (rec recovery) settle(ctx context.Context, out ItemOutcome) (ItemOutcome, error) {
	m, o := rec.markers, rec.operation
	planned := o.Plan.Items[out.Item]
	out.Begun, out.At = false, m.deps.Now()
	told, ok := rec.said.outcomes[saidOf(itemEntry(rec.entry(), o.Plan.Request, planned))]
	if ok {
		out.Outcome, ok = toldOutcome(told)
	}
	if ok {
		out.At = told.At
	} else {
		out.Outcome = rec.reread(ctx, planned)
	}
	if o.Plan.Request.Deed == admin.ClearMarkers && (out.Outcome.Result == dedup.Cleared || out.Outcome.Result == dedup.UnknownOutcome) {
		images, err := m.deps.Journal.Images(ctx, o.ID)
		if err != nil {
			return out, err
		}
		if image, kept := images[out.Item]; kept {
			out.Restorable = restorable(image.Seen, image.Until)
		}
	}
	return out, nil
}

// toldOutcome reads an outcome back from its entry in the audit, which begins with the result; ok is false for words that are
// none of ours.
func toldOutcome(e admin.Entry) (out dedup.Outcome, ok bool) {
	result, text, _ := strings.Cut(e.Detail, ": ")
	out = dedup.Outcome{Result: dedup.Result(result), Text: text}
	switch out.Result {
	case dedup.Cleared, dedup.ExpirySet, dedup.Restored, dedup.Changed, dedup.Gone, dedup.Refused, dedup.NotDone, dedup.UnknownOutcome:
		return out, phaseOf(out.Result) == e.Phase || e.Phase == admin.Failed
	}
	return dedup.Outcome{}, false
}

// said is what the audit holds of one operation, by action and target: intents and outcomes.
type said struct {
	intents, outcomes map[string]admin.Entry
}

func saidOf(e admin.Entry) string { return e.Action + " " + e.Target }

// sameValue reports whether a marker has the type and the value that were planned. Expiries are compared by the actor alone:
// a server that tells only what is left of one never says the same millisecond twice.
func sameValue(now dedup.Sighting, planned PlanItem) bool {
	return now.Type == planned.Seen.Type && admin.ValueHash(now.Value) == planned.Hash
}

// readSaid reads all that the audit holds of an operation.
func readSaid(ctx context.Context, trail admin.AuditTrail, operation string) (said, error) {
	s := said{intents: map[string]admin.Entry{}, outcomes: map[string]admin.Entry{}}
	q := admin.TrailQuery{Operation: operation, Limit: admin.MaxTrail}
	for {
		page, err := trail.Entries(ctx, q)
		if err != nil {
			return said{}, err
		}
		for _, e := range page {
			if e.Phase == admin.Intent {
				s.intents[saidOf(e)] = e
			} else {
				s.outcomes[saidOf(e)] = e
			}
		}
		if len(page) < q.Limit {
			return s, nil
		}
		q.Before = page[len(page)-1].Number
	}
}

// reread says what is there now of a marker whose fate is not known.
func (rec recovery) reread(ctx context.Context, planned PlanItem) dedup.Outcome {
	out := dedup.Outcome{Result: dedup.UnknownOutcome, Text: rec.why + "; "}
	st, err := rec.markers.stores.reading(rec.operation.Plan.Request.Store)
	if err != nil {
		out.Text += "the store cannot be read"
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := look(ctx, st, []string{planned.Seen.Key})
	switch {
	case err != nil:
		out.Text += dedup.PublicText(err)
	case found[0] == nil:
		out.Text += "there is no marker now"
	case sameValue(*found[0], planned):
		out.Text += "a marker like it is there: " + admin.Describe(found[0])
	default:
		out.Text += "now " + admin.Describe(found[0])
	}
	if err == nil && found[0] != nil {
		out.Now = admin.WithoutValue(*found[0])
	}
	return out
}
