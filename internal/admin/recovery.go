package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// tidyEvery is how often old plans and images are purged, and what recovery could not finish is tried again.
const tidyEvery = 10 * time.Minute

// Run recovers what an earlier run of the program left unfinished, and then purges old plans and images until ctx ends.
func (m *Markers) Run(ctx context.Context) error {
	ticks := time.NewTicker(tidyEvery)
	defer ticks.Stop()
	for {
		if err := m.tidy(ctx); err != nil && ctx.Err() == nil {
			m.deps.Log.Error("the journal of operations could not be tidied; it is tried again", "in", tidyEvery, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

func (m *Markers) tidy(ctx context.Context) error {
	unfinished, err := m.deps.Journal.Unfinished(ctx)
	errs := []error{err}
	for _, id := range unfinished {
		if !m.isLive(id) {
			errs = append(errs, m.recover(ctx, id))
		}
	}
	return errors.Join(append(errs, m.deps.Journal.Purge(ctx, m.deps.Now()))...)
}

// recover ends an operation in whose midst the program ended. An item that was begun and has no outcome may have been
// carried out or not: the marker is read again, and what is there now is said, but the outcome stays unknown.
func (m *Markers) recover(ctx context.Context, id string) error {
	o, ok, err := m.deps.Journal.Operation(ctx, id)
	if err != nil {
		return fmt.Errorf("recover operation %s: %w", id, err)
	}
	if !ok {
		return fmt.Errorf("recover operation %s: its plan is lost", id)
	}
	if !o.Ended.IsZero() {
		return nil // it ended while this was on its way
	}
	e := Entry{
		Operation: o.ID, Who: o.By, Target: o.Plan.Request.Store, Reason: o.Reason,
		Action: string(o.Plan.Request.Deed) + "_markers",
	}
	unknown := 0
	for _, out := range o.Outcomes {
		if !out.Begun {
			continue
		}
		unknown++
		if err := m.settle(ctx, o, e, out); err != nil {
			return fmt.Errorf("recover operation %s: %w", id, err)
		}
	}
	if err := m.deps.Journal.End(ctx, id, m.deps.Now(), true, "the program ended in the middle"); err != nil {
		return fmt.Errorf("recover operation %s: %w", id, err)
	}
	m.deps.Log.Warn("an operation was interrupted by the end of the program", "operation", id, "unknown_outcomes", unknown)
	e.Detail = fmt.Sprintf("the program ended in the middle; %s of unknown outcome", plural(unknown, "item"))
	return m.deps.Gate.record(ctx, e, Uncertain)
}

// settle keeps and audits the unknown outcome of an item, with what a fresh look shows.
func (m *Markers) settle(ctx context.Context, o Operation, e Entry, out ItemOutcome) error {
	planned := o.Plan.Items[out.Item]
	out.Begun, out.At = false, m.deps.Now()
	out.Outcome = m.reread(ctx, o.Plan.Request.Store, planned)
	if o.Plan.Request.Deed == ClearMarkers {
		images, err := m.deps.Journal.Images(ctx, o.ID)
		if err != nil {
			return err
		}
		if image, kept := images[out.Item]; kept {
			out.Restorable = image.Until
		}
	}
	if err := m.deps.Journal.Done(ctx, o.ID, out); err != nil {
		return err
	}
	e.Action, e.Target = string(o.Plan.Request.Deed)+"_marker", markerTarget(o.Plan.Request.Store, planned.Seen.Key)
	e.Before, e.Hash, e.Detail = describe(&planned.Seen), planned.Hash, outcomeText(out.Outcome)
	return m.deps.Gate.record(ctx, e, Uncertain)
}

// reread says what is there now of a marker whose fate is not known.
func (m *Markers) reread(ctx context.Context, store string, planned PlanItem) dedup.Outcome {
	out := dedup.Outcome{Result: dedup.UnknownOutcome, Text: "the program ended in the middle; "}
	st, err := m.reading(store)
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
	case sameMarker(*found[0], planned):
		out.Text += "the marker is there as it was"
	default:
		out.Text += "now " + describe(found[0])
	}
	if err == nil && found[0] != nil {
		out.Now = withoutValue(*found[0])
	}
	return out
}

// sameMarker reports whether a marker is exactly what was planned.
func sameMarker(now dedup.Sighting, planned PlanItem) bool {
	return now.Type == planned.Seen.Type && now.ExpiresMillis == planned.Seen.ExpiresMillis && hashOf(now.Value) == planned.Hash
}

// withoutValue returns a copy of a sighting without its value, which may hold payload.
func withoutValue(s dedup.Sighting) *dedup.Sighting {
	s.Value = nil
	return &s
}
