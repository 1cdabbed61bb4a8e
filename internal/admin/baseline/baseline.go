// Package baseline lets operators acknowledge old dead letters, so that only new ones colour the board.
package baseline

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// baselineJournal keeps acknowledged dead letters. Writes are on disk when they return; it is safe for concurrent use.
type baselineJournal interface {
	SetBaseline(ctx context.Context, pipeline string, b dedup.Baseline) error
	// RemoveBaseline returns what it removed, and whether there was one.
	RemoveBaseline(ctx context.Context, pipeline string) (dedup.Baseline, bool, error)
}

// snapshots gives what is known now; Snapshot never returns nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// Deps are what Baselines needs. Refresh, which may be nil, asks for a new snapshot and waits a moment for one that
// meets the condition.
type Deps struct {
	Gate      *admin.Gate
	Journal   baselineJournal
	Snapshots snapshots
	Refresh   func(ctx context.Context, until func(*dedup.Snapshot) bool)
	ReadOnly  bool
	Now       func() time.Time
}

// Baselines lets operators acknowledge old dead letters, so that only new ones colour the board. Nothing at the broker changes.
// It is safe for concurrent use; its errors are *dedup.Error.
type Baselines struct{ deps Deps }

// New returns the service.
func New(deps Deps) *Baselines {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Refresh == nil {
		deps.Refresh = func(context.Context, func(*dedup.Snapshot) bool) {}
	}
	return &Baselines{deps}
}

// SeenDeadLetters is how many dead letters somebody saw. Own is how many of them in queues of the pipeline alone, below zero where that
// is not said.
type SeenDeadLetters struct{ Count, Own int64 }

// Acknowledge makes the dead letters that somebody saw the baseline of a pipeline. What arrived since is not acknowledged, and what
// has gone since is not either: of seen and the depth now the lower number holds.
func (b *Baselines) Acknowledge(ctx context.Context, who admin.Caller, pipeline string, seen SeenDeadLetters, reason string) (dedup.Baseline, error) {
	a := admin.Action{Name: admin.ActAcknowledge, Target: admin.Printable(pipeline, admin.MaxTarget), Needs: auth.Operator}
	p, reason, err := b.admit(ctx, who, &a, pipeline, reason)
	if err != nil {
		return dedup.Baseline{}, err
	}
	if !p.DeadLetters.Known() {
		return dedup.Baseline{}, admin.Unavailable("How many dead letters there are is not known: " + p.DeadLetters.Why)
	}
	if seen.Own > seen.Count {
		return dedup.Baseline{}, admin.Invalid("More of the pipeline's own dead letters were seen than dead letters in all")
	}
	count, own := seen.of(int64(p.DeadLetters.Low), int64(p.DeadLetters.Width()))
	if p.SharingUnknown { // all of them pass for the pipeline's own
		count, own = min(seen.Count, int64(p.DeadLetters.High)), 0
	}
	if count < 1 {
		return dedup.Baseline{}, admin.Invalid("There is no dead letter to acknowledge")
	}
	// To the millisecond, as it is kept.
	line := dedup.Baseline{Count: count, Own: own, Split: !p.SharingUnknown, Acknowledged: count, By: who.Name, At: b.deps.Now().UTC().Truncate(time.Millisecond), Reason: reason}
	a.Run = func(ctx context.Context) (string, error) {
		return admin.Plural(int(count), "dead letter") + " acknowledged", b.deps.Journal.SetBaseline(ctx, p.Pipeline.Name, line)
	}
	if err := b.deps.Gate.Write(ctx, who, a); err != nil {
		return dedup.Baseline{}, err
	}
	b.deps.Refresh(ctx, func(s *dedup.Snapshot) bool {
		p, ok := s.Pipeline(pipeline)
		return !ok || p.Baseline != nil && !p.Baseline.At.Before(line.At)
	})
	return line, nil
}

// of returns how many of the dead letters that are there were seen, and how many of those in queues of the pipeline alone. Where nobody
// said what was seen there, those that may have arrived since are taken for the pipeline's own: better told of twice than never.
func (s SeenDeadLetters) of(own, shared int64) (count, ofOwn int64) {
	if s.Own < 0 {
		count = max(0, min(s.Count, own+shared))
		return count, max(0, count-shared)
	}
	ofOwn = min(s.Own, own)
	return ofOwn + min(s.Count-s.Own, shared), ofOwn
}

// Forget removes the baseline of a pipeline: every dead letter counts as new again.
func (b *Baselines) Forget(ctx context.Context, who admin.Caller, pipeline, reason string) error {
	a := admin.Action{Name: admin.ActForget, Target: admin.Printable(pipeline, admin.MaxTarget), Needs: auth.Operator}
	p, _, err := b.admit(ctx, who, &a, pipeline, reason)
	if err != nil {
		return err
	}
	a.Run = func(ctx context.Context) (string, error) {
		was, ok, err := b.deps.Journal.RemoveBaseline(ctx, p.Pipeline.Name)
		if err == nil && !ok {
			err = admin.Conflict("No dead letters are acknowledged; somebody may have been faster")
		}
		return fmt.Sprintf("%s acknowledged by %s at %s are new again", admin.Plural(int(was.Count), "dead letter"), admin.Printable(was.By, 80), admin.Stamp(was.At)), err
	}
	if err := b.deps.Gate.Write(ctx, who, a); err != nil {
		return err
	}
	b.deps.Refresh(ctx, func(s *dedup.Snapshot) bool {
		p, ok := s.Pipeline(pipeline)
		return !ok || p.Baseline == nil
	})
	return nil
}

// WhyNot says why dead letters cannot be acknowledged here at all, "" when they can.
func (b *Baselines) WhyNot() string {
	if b.deps.ReadOnly {
		return admin.ReadOnly
	}
	return ""
}

// admit checks who asks, the reason and the pipeline, in this order, and completes the action.
func (b *Baselines) admit(ctx context.Context, who admin.Caller, a *admin.Action, pipeline, reason string) (*dedup.PipelineStatus, string, error) {
	if err := b.deps.Gate.AllowChange(ctx, who, *a, b.deps.ReadOnly); err != nil {
		return nil, "", err
	}
	reason, err := admin.CheckReason(reason)
	if err != nil {
		return nil, "", err
	}
	p, ok := b.deps.Snapshots.Snapshot().Pipeline(pipeline)
	if !ok {
		return nil, "", admin.NotFound("There is no pipeline " + admin.Printable(pipeline, 80))
	}
	a.Reason = reason
	return p, reason, nil
}
