// Package admin acts: every action passes one gate that authorises it, records the intent, acts, and records the outcome.
package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// The phases of an action in the audit.
const (
	Denied = "denied"
	Intent = "intent"
	// Succeeded and Failed are outcomes. An intent without one means that the program ended in between.
	Succeeded = "succeeded"
	Failed    = "failed"
)

// An Entry is one line of the audit.
type Entry struct {
	At time.Time
	// Operation ties the outcome to its intent.
	Operation string
	Phase     string
	Who       string
	Role      string
	Method    string // session, token or link
	From      string // network address
	Action    string // stable word for machines: create_first_admin, ...
	Target    string
	// Detail is free text. It never holds a secret or a payload.
	Detail string
}

// auditor keeps entries. Record returns only after the entry is on disk; an error means that it is not.
// It is safe for concurrent use.
type auditor interface {
	Record(ctx context.Context, e Entry) error
}

// A Caller is who asks for an action, and from where.
type Caller struct {
	auth.Principal
	From string
}

// An action is something that changes the world.
type action struct {
	name   string
	target string
	needs  auth.Role
	// run acts. Its text goes into the audit with the outcome; its error is returned to the caller.
	run func(context.Context) (detail string, err error)
}

// Gate is the one way to act. It is safe for concurrent use.
type Gate struct {
	audit auditor
	users accounts
	log   *slog.Logger
}

// NewGate returns a gate that records in the audit.
func NewGate(audit auditor, users accounts, log *slog.Logger) *Gate {
	return &Gate{audit: audit, users: users, log: log}
}

// outcomeTimeout bounds the recording of an outcome, which goes on when the caller has gone away.
const outcomeTimeout = 10 * time.Second

// do authorises the action, records the intent, acts and records the outcome. Without a recorded intent nothing is done.
func (g *Gate) do(ctx context.Context, who Caller, a action) error {
	e := Entry{
		Operation: rand.Text(), Who: who.Name, Role: who.Role.String(), Method: who.Method, From: who.From,
		Action: a.name, Target: a.target,
	}
	if !who.Can(a.needs) {
		e.Detail = "needs the role " + a.needs.String()
		if err := g.record(ctx, e, Denied); err != nil {
			g.log.Error("a denied action could not be recorded", "action", a.name, "who", who.Name, "err", err)
		}
		return &dedup.Error{Kind: dedup.Forbidden, Public: fmt.Sprintf("This needs the role %s", a.needs)}
	}
	if err := g.record(ctx, e, Intent); err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "Nothing was done, because the audit cannot be written", Err: err}
	}
	detail, err := a.run(ctx)
	g.finish(ctx, e, detail, err)
	return err
}

// finish records the outcome even if the caller has gone. The action has happened: a failure to record it is logged, and
// the intent without outcome stays visible in the audit.
func (g *Gate) finish(ctx context.Context, e Entry, detail string, failure error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTimeout)
	defer cancel()
	phase := Succeeded
	e.Detail = detail
	if failure != nil {
		phase, e.Detail = Failed, dedup.PublicText(failure)
	}
	if err := g.record(ctx, e, phase); err != nil {
		g.log.Error("the outcome of an action could not be recorded", "action", e.Action, "operation", e.Operation, "outcome", phase, "err", err)
	}
}

func (g *Gate) record(ctx context.Context, e Entry, phase string) error {
	e.At, e.Phase = time.Now().UTC(), phase
	return g.audit.Record(ctx, e)
}
