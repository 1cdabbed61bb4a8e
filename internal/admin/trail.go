package admin

import (
	"context"
	"errors"
	"fmt"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

const maxTrail = 500

// Audit returns a page of the audit, newest first. Operators may.
func (m *Markers) Audit(ctx context.Context, who Caller, q AuditQuery) ([]Entry, error) {
	t, err := m.trailQuery(ctx, who, q)
	if err != nil {
		return nil, err
	}
	entries, err := m.deps.Trail.Entries(ctx, t)
	if err != nil {
		return nil, unkept("The audit cannot be read", err)
	}
	return entries, nil
}

// Acts returns a page of what was done, newest first: each operation, plan and refusal once, with its outcome. Operators may.
func (m *Markers) Acts(ctx context.Context, who Caller, q AuditQuery) ([]Act, error) {
	t, err := m.trailQuery(ctx, who, q)
	if err != nil {
		return nil, err
	}
	acts, err := m.deps.Trail.Acts(ctx, t)
	if err != nil {
		return nil, unkept("The audit cannot be read", err)
	}
	return acts, nil
}

func (m *Markers) trailQuery(ctx context.Context, who Caller, q AuditQuery) (TrailQuery, error) {
	if err := m.allow(ctx, who, auth.Operator, "read_audit", q.Store); err != nil {
		return TrailQuery{}, err
	}
	if q.Limit < 1 || q.Limit > maxTrail || q.Before < 0 {
		return TrailQuery{}, invalid(fmt.Sprintf("A page of the audit has 1 to %d entries", maxTrail))
	}
	t := TrailQuery{Before: q.Before, Limit: q.Limit, Operation: q.Operation, Target: q.Store, Below: q.Store != "", TrailFilter: q.TrailFilter}
	if q.Key != "" {
		t.Target, t.Below = markerTarget(q.Store, q.Key), false
	}
	switch {
	case q.Queue != "":
		t.Within = []TrailScope{{Queue: printable(q.Queue, maxTarget)}}
	case q.Pipeline != "":
		p, ok := m.deps.Snapshots.Snapshot().Pipeline(q.Pipeline)
		if !ok {
			return TrailQuery{}, notFound("There is no pipeline " + printable(q.Pipeline, 64))
		}
		t.Within = scopesOf(p)
	}
	return t, nil
}

// scopesOf is what belongs to a pipeline in the audit.
func scopesOf(p *dedup.PipelineStatus) []TrailScope {
	scopes := []TrailScope{{Pipeline: printable(p.Pipeline.Name, maxTarget)}}
	if p.Pipeline.Store != "" {
		scopes = append(scopes, TrailScope{Store: p.Pipeline.Store})
	}
	for _, q := range p.DeadLetterQueues {
		scopes = append(scopes, TrailScope{Queue: printable(q.Name, maxTarget)})
	}
	return scopes
}

// VerifyAudit checks the chain of the audit: what is new at each call, all of it now and then. Operators may.
func (m *Markers) VerifyAudit(ctx context.Context, who Caller) (AuditState, error) {
	if err := m.allow(ctx, who, auth.Operator, "verify_audit", ""); err != nil {
		return AuditState{}, err
	}
	state, err := m.deps.Trail.Check(ctx)
	switch {
	case errors.Is(err, ErrBroken):
		return AuditState{Entries: state.Entries, Whole: state.Whole, Broken: err.Error()}, nil
	case err != nil:
		return AuditState{}, unkept("The audit could not be read to its end, which proves nothing about it", err)
	}
	return state, nil
}
