package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// MaxTrail is the most entries of a page of the audit.
const MaxTrail = 500

// An AuditQuery asks for a page of the audit, newest first.
type AuditQuery struct {
	// Before is the Number from which to go back, exclusive; 0 begins at the newest.
	Before int64
	// Limit is the most entries: 1 to 500.
	Limit int
	// Store keeps entries on this store and its markers; Key, with Store, those on one marker. Empty keeps all.
	Store string
	Key   string
	// Operation keeps the entries of one operation or plan; empty keeps all.
	Operation string
	// Queue keeps entries on queues of this name, their parking queues, messages and jobs; Pipeline those on the queues, the store and
	// the acknowledged dead letters of a pipeline. Empty keeps all.
	Queue    string
	Pipeline string
	TrailFilter
}

// An AuditState is the result of checking the whole chain.
type AuditState struct {
	Entries int64
	// Head is the hash of the newest entry in hex.
	Head string
	// Unkeyed is how many entries at the beginning carry no key, being older than it: anybody who could write the file could have
	// written them anew.
	Unkeyed int64
	// Whole is when every entry was checked last; those that came since were checked now.
	Whole time.Time
	// Broken names the first entry that does not fit; empty when the chain is whole.
	Broken string
}

// A Trail shows the audit to operators, and checks its chain. It is safe for concurrent use; its errors are *dedup.Error.
type Trail struct {
	gate      *Gate
	trail     AuditTrail
	snapshots Snapshots
}

// NewTrail returns the Trail of an audit. The snapshots say what belongs to a pipeline.
func NewTrail(gate *Gate, audit AuditTrail, newest Snapshots) *Trail {
	return &Trail{gate, audit, newest}
}

// Audit returns a page of the audit, newest first. Operators may.
func (t *Trail) Audit(ctx context.Context, who Caller, q AuditQuery) ([]Entry, error) {
	asked, err := t.query(ctx, who, q)
	if err != nil {
		return nil, err
	}
	entries, err := t.trail.Entries(ctx, asked)
	if err != nil {
		return nil, JournalError("The audit cannot be read", err)
	}
	return entries, nil
}

// Acts returns a page of what was done, newest first: each operation, plan and refusal once, with its outcome. Operators may.
func (t *Trail) Acts(ctx context.Context, who Caller, q AuditQuery) ([]Act, error) {
	asked, err := t.query(ctx, who, q)
	if err != nil {
		return nil, err
	}
	acts, err := t.trail.Acts(ctx, asked)
	if err != nil {
		return nil, JournalError("The audit cannot be read", err)
	}
	return acts, nil
}

func (t *Trail) query(ctx context.Context, who Caller, q AuditQuery) (TrailQuery, error) {
	if err := t.gate.Allow(ctx, who, Action{Name: "read_audit", Target: Printable(q.Store, MaxTarget), Needs: auth.Operator}); err != nil {
		return TrailQuery{}, err
	}
	if q.Limit < 1 || q.Limit > MaxTrail || q.Before < 0 {
		return TrailQuery{}, Invalid(fmt.Sprintf("A page of the audit has 1 to %d entries", MaxTrail))
	}
	asked := TrailQuery{Before: q.Before, Limit: q.Limit, Operation: q.Operation, Target: q.Store, Below: q.Store != "", TrailFilter: q.TrailFilter}
	if q.Key != "" {
		asked.Target, asked.Below = MarkerTarget(q.Store, q.Key), false
	}
	switch {
	case q.Queue != "":
		asked.Within = []TrailScope{{Queue: Printable(q.Queue, MaxTarget)}}
	case q.Pipeline != "":
		// Of a pipeline that is gone only what was done to itself is known.
		asked.Within = []TrailScope{{Pipeline: Printable(q.Pipeline, MaxTarget)}}
		if p, ok := t.snapshots.Snapshot().Pipeline(q.Pipeline); ok {
			asked.Within = scopesOf(p)
		}
	}
	return asked, nil
}

// scopesOf is what belongs to a pipeline in the audit.
func scopesOf(p *dedup.PipelineStatus) []TrailScope {
	scopes := []TrailScope{{Pipeline: Printable(p.Pipeline.Name, MaxTarget)}}
	if p.Pipeline.Store != "" {
		scopes = append(scopes, TrailScope{Store: p.Pipeline.Store})
	}
	for _, q := range p.DeadLetterQueues {
		scopes = append(scopes, TrailScope{Queue: Printable(q.Name, MaxTarget)})
	}
	return scopes
}

// VerifyAudit checks the chain of the audit: what is new at each call, all of it now and then. Operators may.
func (t *Trail) VerifyAudit(ctx context.Context, who Caller) (AuditState, error) {
	if err := t.gate.Allow(ctx, who, Action{Name: "verify_audit", Needs: auth.Operator}); err != nil {
		return AuditState{}, err
	}
	state, err := t.trail.Check(ctx)
	switch {
	case errors.Is(err, ErrBroken):
		return AuditState{Entries: state.Entries, Whole: state.Whole, Broken: err.Error()}, nil
	case err != nil:
		return AuditState{}, JournalError("The audit could not be read to its end, which proves nothing about it", err)
	}
	return state, nil
}
