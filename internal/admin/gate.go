// Package admin acts: every action passes one gate that authorises it, records the intent, acts, and records the outcome.
package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// The phases of an action in the audit.
const (
	Denied = "denied"
	// Planned is a plan that was made; it changed nothing. Its operation is the ID of the plan.
	Planned = "planned"
	Intent  = "intent"
	// Succeeded and Failed are outcomes. An intent without one means that the program ended in between.
	Succeeded = "succeeded"
	Failed    = "failed"
	// Changed is the outcome of an action that found its target changed or gone, and so did nothing.
	Changed = "changed"
	// Uncertain is an outcome that could not be learned.
	Uncertain = "unknown"
)

// An Entry is one line of the audit.
type Entry struct {
	// Number is the place in the audit, from 1; 0 in an entry that is yet to be recorded.
	Number int64
	At     time.Time
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
	// Reason is why, in the words of who did it.
	Reason string
	// Before and After are the state of the target before and after the action; Hash is the SHA-256 of its value in hex.
	Before string
	After  string
	Hash   string
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

// An Action is something that changes the world.
type Action struct {
	Name   string
	Target string
	Needs  auth.Role
	// Reason is why, in the words of who asks; empty where none is asked for.
	Reason string
	// Run acts. Its text goes into the audit with the outcome; its error is returned to the caller.
	Run func(context.Context) (detail string, err error)
}

// Gate is the one way to act. It is safe for concurrent use.
type Gate struct {
	audit auditor
	users accounts
	log   *slog.Logger
	// refused is why the newest entry was not taken; empty when it was.
	refused atomic.Pointer[string]
	// What anybody can repeat at will is summed up: what strangers were refused, what people were refused who lack the role, what those
	// were refused who have it, and who signed in. None of them takes the room of another.
	strangers, lacking, refusals, signIns *repeats
}

// Refused says why the audit did not take the newest entry, in words that may be shown; empty while it takes them.
func (g *Gate) Refused() string {
	if why := g.refused.Load(); why != nil {
		return *why
	}
	return ""
}

// NewGate returns a gate that records in the audit.
func NewGate(audit auditor, users accounts, log *slog.Logger) *Gate {
	g := &Gate{audit: audit, users: users, log: log}
	g.strangers = &repeats{what: "refused requests and sign-ins", action: actRefusedRequest, phase: Denied, write: g.Record, log: log}
	g.lacking = &repeats{what: "refused actions", action: actRefusedRequest, phase: Denied, write: g.Record, log: log}
	g.refusals = &repeats{what: "refused actions", action: actRefusedRequest, phase: Denied, write: g.Record, log: log, each: true}
	g.signIns = &repeats{what: "sign-ins", action: actSignIn, phase: Succeeded, write: g.Record, log: log}
	return g
}

// writeTimeout bounds a write to journal or audit.
const writeTimeout = 10 * time.Second

// Writing is the context of a write to journal or audit. Neither a stop nor a caller who has gone cuts it short: writes that
// are half known would pass for failures.
func Writing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}

// Do authorises the action, records the intent, acts and records the outcome. Without a recorded intent nothing is done.
func (g *Gate) Do(ctx context.Context, who Caller, a Action) error {
	if err := g.Allow(ctx, who, a); err != nil {
		return err
	}
	e := NewEntry(who, a)
	if err := g.Intend(ctx, e); err != nil {
		return err
	}
	detail, err := a.Run(ctx)
	g.Finish(ctx, e, detail, err)
	return err
}

// Write is Do for what is kept in the journal, which no stop cuts short. An error that is not in words is one of a journal that cannot be written.
func (g *Gate) Write(ctx context.Context, who Caller, a Action) error {
	run := a.Run
	a.Run = func(ctx context.Context) (string, error) {
		ctx, cancel := Writing(ctx)
		defer cancel()
		detail, err := run(ctx)
		if err != nil && dedup.KindOf(err) == dedup.Internal {
			err = NotWritten(err)
		}
		return detail, err
	}
	return g.Do(ctx, who, a)
}

// ReadOnly is why nothing can be changed where the configuration says so.
const ReadOnly = "the dashboard is read-only (server.read_only)"

// AllowChange is Allow for what changes something; a dashboard that is read-only refuses it.
func (g *Gate) AllowChange(ctx context.Context, who Caller, a Action, readOnly bool) error {
	if err := g.Allow(ctx, who, a); err != nil || !readOnly {
		return err
	}
	return g.Refuse(ctx, who, a, Forbidden("Nothing can be changed: "+ReadOnly))
}

// NewEntry returns the beginning of an entry on an action, with an operation of its own.
func NewEntry(who Caller, a Action) Entry {
	return Entry{
		Operation: rand.Text(), Who: who.Name, Role: who.Role.String(), Method: who.Method, From: who.From,
		Action: a.Name, Target: a.Target, Reason: a.Reason,
	}
}

// Lacks is the error for whoever lacks the role that an action needs; nil for who has it.
func Lacks(who Caller, needs auth.Role) error {
	if who.Can(needs) {
		return nil
	}
	return Forbidden(fmt.Sprintf("This needs the role %s", needs))
}

// Allow refuses and records whoever lacks the role that the action needs.
func (g *Gate) Allow(ctx context.Context, who Caller, a Action) error {
	return g.Refuse(ctx, who, a, Lacks(who, a.Needs))
}

// Refuse records why an action is refused before it begins, and returns that. A request that is not understood, or names what is not there,
// is no action yet, and what cannot be read or written is no refusal: these leave no entry.
func (g *Gate) Refuse(ctx context.Context, who Caller, a Action, why error) error {
	if kind := dedup.KindOf(why); why == nil || kind != dedup.Forbidden && kind != dedup.Conflict {
		return why
	}
	list := g.refusals
	if !who.Can(a.Needs) {
		list = g.lacking
	}
	e := NewEntry(who, a)
	e.Detail = dedup.PublicText(why)
	if err := list.note(ctx, e, Denied); err != nil {
		g.log.Error("a denied action could not be recorded", "action", a.Name, "who", who.Name, "err", err)
	}
	return why
}

// Intend records an intent. An error means that the action must not happen.
func (g *Gate) Intend(ctx context.Context, e Entry) error {
	if err := g.Record(ctx, e, Intent); err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "Nothing was done, because the audit cannot be written", Err: err}
	}
	return nil
}

// Finish records the outcome. The action has happened: a failure to record it is logged, and
// the intent without outcome stays visible in the audit.
func (g *Gate) Finish(ctx context.Context, e Entry, detail string, failure error) {
	phase := Succeeded
	e.Detail = detail
	if failure != nil {
		phase, e.Detail = Failed, dedup.PublicText(failure)
	}
	g.Close(ctx, e, phase)
}

// Close records an outcome; what went wrong is logged.
func (g *Gate) Close(ctx context.Context, e Entry, phase string) {
	if err := g.Record(ctx, e, phase); err != nil {
		g.log.Error("the outcome of an action could not be recorded", "action", e.Action, "operation", e.Operation, "outcome", phase, "err", err)
	}
}

// Record keeps an entry even if the caller has gone: what somebody tried has to show, and that the audit takes no entry must not be
// concluded from a browser that was closed.
func (g *Gate) Record(ctx context.Context, e Entry, phase string) error {
	ctx, cancel := Writing(ctx)
	defer cancel()
	e.At, e.Phase = time.Now().UTC(), phase
	err := g.audit.Record(ctx, e)
	if errors.Is(err, context.Canceled) {
		return err // which says nothing of the audit
	}
	why := ""
	if err != nil {
		why = dedup.PublicText(err)
	}
	g.refused.Store(&why)
	return err
}
