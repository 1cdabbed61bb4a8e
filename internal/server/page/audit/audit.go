// Package audit serves the record of every action, as a page and as JSON.
package audit

import (
	"context"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// trail tells what was done. Its errors are *dedup.Error.
type trail interface {
	Audit(ctx context.Context, who admin.Caller, q admin.AuditQuery) ([]admin.Entry, error)
	Acts(ctx context.Context, who admin.Caller, q admin.AuditQuery) ([]admin.Act, error)
	VerifyAudit(ctx context.Context, who admin.Caller) (admin.AuditState, error)
}

// Deps are what the audit is read from.
type Deps struct {
	// Snapshots name what a filter offers.
	Snapshots snapshots
	// Trail is *admin.Trail; without it the page says that there is none.
	Trail trail
}

// pages answer what was done. They are safe for concurrent use.
type pages struct {
	deps Deps
	site web.Site
}

// New returns the routes of the audit.
func New(deps Deps) web.Pages {
	return func(site web.Site) []web.Route {
		s := &pages{deps, site}
		return []web.Route{web.Get("/audit", auth.Operator, s.page), web.APIGet("/audit", auth.Operator, s.entries)}
	}
}

// trail returns what tells of what was done.
func (s *pages) trail() (trail, error) {
	if s.deps.Trail == nil {
		return nil, web.NoMarkers()
	}
	return s.deps.Trail, nil
}
